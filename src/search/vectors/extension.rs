//! Registers the vector functions of `sqlite-vec` with SQLite. This is the only file that may have `unsafe`.

#![allow(unsafe_code, reason = "SQLite takes an extension by the address of its entry point")]

use std::sync::OnceLock;

use rusqlite::ffi;

/// The entry point of an extension, as SQLite calls it.
type EntryPoint =
    unsafe extern "C" fn(*mut ffi::sqlite3, *mut *mut std::ffi::c_char, *const ffi::sqlite3_api_routines) -> i32;

/// Makes the vector functions known to every database that this process opens from now on. `false` if SQLite refuses them.
pub(in crate::search) fn register() -> bool {
    static IS_REGISTERED: OnceLock<bool> = OnceLock::new();
    *IS_REGISTERED.get_or_init(|| {
        // SAFETY: `sqlite3_vec_init` is compiled with the signature of an entry point, which the crate declares without its
        // parameters. It is linked statically and lives as long as the process.
        let code = unsafe {
            let entry: EntryPoint = std::mem::transmute(sqlite_vec::sqlite3_vec_init as *const ());
            ffi::sqlite3_auto_extension(Some(entry))
        };
        code == ffi::SQLITE_OK
    })
}
