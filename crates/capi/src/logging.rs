//! The log of the library, passed to a callback.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{OnceLock, PoisonError, RwLock};

use log::{LevelFilter, Log, Metadata, Record};

use crate::arguments::null;
use crate::failure::{PacklineError, guard, text};

/// Levels of the log. A level includes the levels above it.
#[allow(dead_code, clippy::enum_variant_names, reason = "the names in C, which C alone uses")]
#[repr(C)]
pub enum LogLevel {
    /// No lines.
    PacklineLogOff = 0,
    /// Bugs in packline.
    PacklineLogError = 1,
    /// Reserved. Warnings about an operation go to its observer.
    PacklineLogWarn = 2,
    /// Reserved.
    PacklineLogInfo = 3,
    /// A line for each decision about an operation or an entry.
    PacklineLogDebug = 4,
    /// A line for each block, too.
    PacklineLogTrace = 5,
}

/// Receives a line of the log: its level (packline_log_level), the part of the library that it comes from,
/// and its text, without a line feed. The strings are valid only during the call. Threads of the library call
/// it too, several at the same time. It must not call functions of the library.
pub type LogFn =
    Option<unsafe extern "C" fn(context: *mut c_void, level: u32, target: *const c_char, message: *const c_char)>;

struct Receiver {
    function: unsafe extern "C" fn(*mut c_void, u32, *const c_char, *const c_char),
    context: *mut c_void,
}

// SAFETY: the header says that any thread may call the function, and several at the same time.
unsafe impl Send for Receiver {}
// SAFETY: as above.
unsafe impl Sync for Receiver {}

static RECEIVER: RwLock<Option<Receiver>> = RwLock::new(None);

/// The logger of the process. It holds the lock during a call, so that no call is left when [`packline_log`]
/// returns.
struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        let receiver = RECEIVER.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Receiver { function, context }) = &*receiver
            && self.enabled(record.metadata())
        {
            let target = text(record.target());
            let message = text(record.args().to_string());
            // SAFETY: the header says that the context is valid until the function is replaced. The strings outlive the call.
            unsafe { function(*context, record.level() as u32, target.as_ptr(), message.as_ptr()) };
        }
    }

    fn flush(&self) {}
}

/// Passes the log of the library, for the complete process, to `each`: all lines of a level
/// (packline_log_level) and the levels above it. It replaces the earlier function, which is not called any more
/// when this function returns. With PACKLINE_LOG_OFF, `each` may be NULL. By default nothing is logged.
/// `context` must be valid until the function is replaced. Returns 0, or -1 after an error:
/// PACKLINE_ERROR_INVALID for an unknown level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packline_log(
    level: u32,
    each: LogFn,
    context: *mut c_void,
    error: *mut *mut PacklineError,
) -> c_int {
    let set = || {
        static IS_OURS: OnceLock<bool> = OnceLock::new();
        let filter = LevelFilter::iter().nth(level as usize);
        let filter =
            filter.ok_or_else(|| PacklineError::invalid(format!("unknown level {level} (expected 0 to 5)")))?;
        let receiver = match each {
            _ if filter == LevelFilter::Off => None,
            None => return Err(null("each")),
            Some(function) => Some(Receiver { function, context }),
        };
        if !IS_OURS.get_or_init(|| log::set_logger(&Logger).is_ok()) {
            return Err(PacklineError::invalid("the process has another logger"));
        }
        *RECEIVER.write().unwrap_or_else(PoisonError::into_inner) = receiver;
        log::set_max_level(filter);
        Ok(0)
    };
    // SAFETY: (5)
    unsafe { guard(error, -1, set) }
}
