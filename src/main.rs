fn main() -> std::process::ExitCode {
    agent_handover::main(std::env::args_os())
}
