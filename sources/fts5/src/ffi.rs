//! Callbacks for SQLite, calls into FTS5, and the other calls of this program into C.
//!
//! SQLite invokes the callbacks on the thread that runs a statement, with pointers that are valid
//! for the duration of the call. All other code is called from [`register`] with pointers obtained
//! immediately before.

#![expect(unsafe_code, reason = "the interfaces of SQLite and of the allocator are in C")]

use std::{
    cell::RefCell,
    ffi::{CStr, c_char, c_int, c_void},
    ops::{ControlFlow, Range},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice, str,
};

use rusqlite::{Connection, Error, ffi};

use crate::{
    collect::PostingsSink,
    postings::SEGMENT_WORDS,
    prepared::visit_prepared_tokens,
    tokens::{ALTERNATIVE_SEPARATOR, for_each_index_token, with_english_stem},
};

/// Type name under which a sink pointer is bound.
pub(crate) const SINK_POINTER_TYPE: &CStr = c"vademecum_sink";

/// SQL name of the function that collects postings.
const POSTINGS_FUNCTION: &CStr = c"vademecum_postings";
/// Names of the tokenizer in `CREATE VIRTUAL TABLE`: that of new tables, and one of version 0.1.0.
const TOKENIZER_NAMES: [&CStr; 2] = [c"vademecum", c"vademecum_compact"];

/// Gives free memory of this process back to the system. The allocator of glibc keeps what was freed
/// below memory that is in use; others give it back themselves.
pub fn release_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: the function takes no pointer and may be called from any thread.
        unsafe { libc::malloc_trim(0) };
    }
}

/// Returns the memory that SQLite has allocated in this process, in bytes.
#[must_use]
pub fn sqlite_heap_bytes() -> u64 {
    // SAFETY: the function has no arguments and may be called from any thread.
    let bytes = unsafe { ffi::sqlite3_memory_used() };
    u64::try_from(bytes).unwrap_or(0)
}

/// Registers the tokenizers and the function `vademecum_postings` with a connection.
///
/// # Errors
/// Returns the error of SQLite if it was built without FTS5.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    let api = load_fts5_api(connection)?;
    // SAFETY: FTS5 returned the pointer for this open connection; the structure belongs to FTS5 and
    // lives as long as the connection.
    let (function, tokenizer) = unsafe { ((*api).xCreateFunction, (*api).xCreateTokenizer) };
    let (Some(create_function), Some(create_tokenizer)) = (function, tokenizer) else {
        return Err(extension_error(ffi::SQLITE_ERROR));
    };
    // SAFETY: the name is a static C string; the function follows the contract of FTS5 functions
    // and has no user data.
    check_result(unsafe {
        create_function(
            api,
            POSTINGS_FUNCTION.as_ptr(),
            ptr::null_mut(),
            Some(postings_callback),
            None,
        )
    })?;
    let tokenizers =
        TOKENIZER_NAMES.map(|name| (name, tokenize_callback::<false> as TokenizeCallback));
    #[cfg(feature = "stems")]
    let tokenizers =
        [tokenizers.as_slice(), &[(c"vademecum_stems", tokenize_callback::<true>)]].concat();
    for (name, tokenize) in tokenizers {
        let mut functions = ffi::fts5_tokenizer {
            xCreate: Some(create_callback),
            xDelete: Some(delete_callback),
            xTokenize: Some(tokenize),
        };
        // SAFETY: as above; FTS5 copies the structure before it returns.
        check_result(unsafe {
            create_tokenizer(api, name.as_ptr(), ptr::null_mut(), &raw mut functions, None)
        })?;
    }
    Ok(())
}

fn load_fts5_api(connection: &Connection) -> rusqlite::Result<*mut ffi::fts5_api> {
    let mut api: *mut ffi::fts5_api = ptr::null_mut();
    let mut statement: *mut ffi::sqlite3_stmt = ptr::null_mut();
    // SAFETY: the connection is open while it is borrowed; the SQL is a C string; `statement`
    // receives the result.
    check_result(unsafe {
        ffi::sqlite3_prepare_v2(
            connection.handle(),
            c"SELECT fts5(?1)".as_ptr(),
            -1,
            &raw mut statement,
            ptr::null_mut(),
        )
    })?;
    // SAFETY: the statement was just prepared and is finalised here in every case; FTS5 writes its
    // pointer to `api`, which outlives the statement.
    unsafe {
        let place = (&raw mut api).cast::<c_void>();
        ffi::sqlite3_bind_pointer(statement, 1, place, c"fts5_api_ptr".as_ptr(), None);
        ffi::sqlite3_step(statement);
        check_result(ffi::sqlite3_finalize(statement))?;
    }
    if api.is_null() { Err(extension_error(ffi::SQLITE_ERROR)) } else { Ok(api) }
}

fn extension_error(code: c_int) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), Some("FTS5 cannot be extended".to_owned()))
}

fn check_result(code: c_int) -> rusqlite::Result<()> {
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(extension_error(code)) }
}

/// Implements `vademecum_postings(table, sink)`: adds the current row to the sink. Returns NULL, so
/// that SQLite keeps no row.
unsafe extern "C" fn postings_callback(
    api: *const ffi::Fts5ExtensionApi,
    row: *mut ffi::Fts5Context,
    answer: *mut ffi::sqlite3_context,
    count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    let complain = |what: &'static CStr| {
        // SAFETY: SQLite passed the context for this call and copies the text.
        unsafe { ffi::sqlite3_result_error(answer, what.as_ptr(), -1) };
    };
    if count != 1 {
        return complain(c"vademecum_postings takes a table and a sink");
    }
    // SAFETY: there is one argument. SQLite returns the pointer only if it was bound under the same
    // type name; it is then a sink owned by `collect_postings`.
    let sink = unsafe { ffi::sqlite3_value_pointer(*arguments, SINK_POINTER_TYPE.as_ptr()) };
    // SAFETY: as above; null is rejected.
    let Some(sink) = (unsafe { sink.cast::<RefCell<PostingsSink>>().as_ref() }) else {
        return complain(c"vademecum_postings needs a sink");
    };
    let Ok(mut sink) = sink.try_borrow_mut() else {
        return complain(c"vademecum_postings: the sink is in use");
    };
    // SAFETY: FTS5 passed both pointers for this call.
    let noted = catch_unwind(AssertUnwindSafe(|| unsafe { record_row(&*api, row, &mut sink) }));
    match noted {
        Ok(ffi::SQLITE_OK) => {}
        // SAFETY: SQLite passed the context for this call.
        Ok(code) => unsafe { ffi::sqlite3_result_error_code(answer, code) },
        Err(_) => complain(c"vademecum_postings panicked"),
    }
}

/// Adds the current row to the postings.
///
/// # Safety
/// `api` and `row` must be the pointers of the running call.
unsafe fn record_row(
    api: &ffi::Fts5ExtensionApi,
    row: *mut ffi::Fts5Context,
    sink: &mut PostingsSink,
) -> c_int {
    let (Some(phrase_count), Some(first), Some(next), Some(rowid)) =
        (api.xPhraseCount, api.xPhraseFirst, api.xPhraseNext, api.xRowid)
    else {
        return ffi::SQLITE_ERROR;
    };
    let alternative = |phrase: c_int| usize::try_from(phrase).unwrap_or(usize::MAX);
    let weight = |weights: &[f64], column: c_int| {
        usize::try_from(column).ok().and_then(|column| weights.get(column)).copied().unwrap_or(1.0)
    };
    // SAFETY: these functions only read the current row; the iterator is used while that row is
    // current, and initialised before it is read.
    unsafe {
        let phrases = phrase_count(row);
        let mut frequency = 0.0;
        sink.positions.clear();
        sink.segments.clear();
        for phrase in 0..phrases {
            let mut iterator = ffi::Fts5PhraseIter { a: ptr::null(), b: ptr::null() };
            let (mut column, mut offset) = (0, 0);
            let code = first(row, phrase, &raw mut iterator, &raw mut column, &raw mut offset);
            if code != ffi::SQLITE_OK {
                return code;
            }
            while column >= 0 {
                if phrases == 1 {
                    frequency += weight(&sink.weights, column) * sink.alternatives.weight(0);
                } else {
                    sink.positions.push((column, offset, phrase));
                }
                sink.segments.push(offset.unsigned_abs() / SEGMENT_WORDS);
                next(row, &raw mut iterator, &raw mut column, &raw mut offset);
            }
        }
        if phrases > 1 {
            // The first alternative at a position has the greatest weight.
            sink.positions.sort_unstable();
            sink.positions.dedup_by_key(|(column, offset, _)| (*column, *offset));
            let weights = sink.positions.iter().map(|(column, _, phrase)| {
                weight(&sink.weights, *column) * sink.alternatives.weight(alternative(*phrase))
            });
            frequency = weights.sum();
        }
        if sink.segments.iter().any(|segment| *segment > 0) {
            sink.segments.sort_unstable();
            sink.segments.dedup();
        } else {
            sink.segments.clear();
        }
        sink.postings.push(rowid(row), frequency, &sink.segments);
    }
    ffi::SQLITE_OK
}

/// Creates a tokenizer. It has no state, but FTS5 requires a non-null pointer.
unsafe extern "C" fn create_callback(
    _: *mut c_void,
    _: *mut *const c_char,
    _: c_int,
    tokenizer: *mut *mut ffi::Fts5Tokenizer,
) -> c_int {
    // SAFETY: FTS5 passed the address for the result. The pointer is never dereferenced, only
    // passed back.
    unsafe { *tokenizer = ptr::dangling_mut() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete_callback(_: *mut ffi::Fts5Tokenizer) {}

type TokenCallback =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_char, c_int, c_int, c_int) -> c_int;

type TokenizeCallback = unsafe extern "C" fn(
    *mut ffi::Fts5Tokenizer,
    *mut c_void,
    c_int,
    *const c_char,
    c_int,
    Option<TokenCallback>,
) -> c_int;

unsafe extern "C" fn tokenize_callback<const STEMS: bool>(
    _: *mut ffi::Fts5Tokenizer,
    context: *mut c_void,
    flags: c_int,
    text: *const c_char,
    length: c_int,
    token: Option<TokenCallback>,
) -> c_int {
    let (Some(token), Ok(length)) = (token, usize::try_from(length)) else {
        return ffi::SQLITE_ERROR;
    };
    if text.is_null() || length == 0 {
        return ffi::SQLITE_OK;
    }
    // SAFETY: FTS5 passes a text of that many bytes, valid for the call.
    let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), length) };
    let mut code = ffi::SQLITE_OK;
    let mut give = |word: &str, start: usize, end: usize, same: bool| {
        let number = |value: usize| c_int::try_from(value).unwrap_or(c_int::MAX);
        // Invalid bytes are longer once replaced, so offsets are clamped to the original length.
        let (start, end) = (start.min(length), end.min(length));
        let flag = if same { ffi::FTS5_TOKEN_COLOCATED } else { 0 };
        // SAFETY: the callback and context are FTS5's own for this call; it copies the word.
        code = unsafe {
            let word_start = word.as_ptr().cast::<c_char>();
            token(context, flag, word_start, number(word.len()), number(start), number(end))
        };
        if code == ffi::SQLITE_OK { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let done = catch_unwind(AssertUnwindSafe(|| {
        if flags & ffi::FTS5_TOKENIZE_QUERY == 0 {
            let is_document = flags & ffi::FTS5_TOKENIZE_DOCUMENT != 0;
            visit_text_tokens(bytes, is_document, |word, place, same| {
                if STEMS {
                    return with_english_stem(word, |stem| {
                        give(stem, place.start, place.end, same)
                    });
                }
                give(word, place.start, place.end, same)
            });
            return;
        }
        // A query contains tokens, not words.
        let text = String::from_utf8_lossy(bytes);
        let _broken_off = text.split(' ').filter(|word| !word.is_empty()).try_for_each(|word| {
            let mut same = false;
            word.split(ALTERNATIVE_SEPARATOR)
                .try_for_each(|token| give(token, 0, 0, std::mem::replace(&mut same, true)))
        });
    }));
    if done.is_err() { ffi::SQLITE_ERROR } else { code }
}

/// Calls `visit` for the tokens of a text, which may be prepared if it is a document.
fn visit_text_tokens(
    bytes: &[u8],
    is_document: bool,
    mut visit: impl FnMut(&str, Range<usize>, bool) -> ControlFlow<()>,
) {
    // The stored tokens do not depend on their byte offsets.
    if is_document && visit_prepared_tokens(bytes, |word, same| visit(word, 0..0, same)) {
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    for_each_index_token(&text, |word, place, same| visit(word, place.clone(), same));
}
