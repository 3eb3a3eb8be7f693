fn main() -> std::process::ExitCode {
    agent_handover::cli::main(std::env::args_os())
}
