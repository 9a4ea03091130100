//! The functions that SQLite calls, and the calls into FTS5.
//!
//! Everything here is called by SQLite on the thread that runs a statement,
//! with pointers that live as long as the call, or is called from
//! [`register`] with pointers that it has just been given.

#![expect(unsafe_code, reason = "SQLite is extended through its C interface only")]

use std::{
    cell::RefCell,
    ffi::{CStr, c_char, c_int, c_void},
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice, str,
};

use rusqlite::{Connection, Error, ffi};

use crate::{
    postings::{SEGMENT, Sink},
    prepared::prepared_tokens,
    tokens::index_tokens,
};

/// The kind of pointer that a sink is handed over as.
pub(crate) const SINK: &CStr = c"vademecum_sink";

/// The function that collects postings, in SQL.
const FUNCTION: &CStr = c"vademecum_postings";
/// The tokenizer, in `CREATE VIRTUAL TABLE`.
const TOKENIZER: &CStr = c"vademecum";

/// Makes the tokenizer `vademecum` and the function `vademecum_postings`
/// known to a connection.
///
/// # Errors
/// Those of SQLite, if it was built without FTS5.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    let api = api_of(connection)?;
    // SAFETY: FTS5 gave the pointer for this connection, which is open; the
    // structure is FTS5's own and lives as long as the connection.
    let (function, tokenizer) = unsafe { ((*api).xCreateFunction, (*api).xCreateTokenizer) };
    let (Some(create_function), Some(create_tokenizer)) = (function, tokenizer) else {
        return Err(failed(ffi::SQLITE_ERROR));
    };
    // SAFETY: the name is a C string that lives for ever; the function keeps
    // the contract of an FTS5 function and needs no data of its own.
    check(unsafe {
        create_function(api, FUNCTION.as_ptr(), ptr::null_mut(), Some(postings), None)
    })?;
    let mut functions = ffi::fts5_tokenizer {
        xCreate: Some(create),
        xDelete: Some(delete),
        xTokenize: Some(tokenize),
    };
    // SAFETY: as above; FTS5 copies the structure before it returns.
    check(unsafe {
        create_tokenizer(api, TOKENIZER.as_ptr(), ptr::null_mut(), &raw mut functions, None)
    })
}

fn api_of(connection: &Connection) -> rusqlite::Result<*mut ffi::fts5_api> {
    let mut api: *mut ffi::fts5_api = ptr::null_mut();
    let mut statement: *mut ffi::sqlite3_stmt = ptr::null_mut();
    // SAFETY: the connection is open for as long as it is borrowed; the SQL is
    // a C string; `statement` is where the answer goes.
    check(unsafe {
        ffi::sqlite3_prepare_v2(
            connection.handle(),
            c"SELECT fts5(?1)".as_ptr(),
            -1,
            &raw mut statement,
            ptr::null_mut(),
        )
    })?;
    // SAFETY: the statement was just made, and is finished here whatever
    // happens; FTS5 writes its pointer to `api`, which outlives the statement.
    unsafe {
        let place = (&raw mut api).cast::<c_void>();
        ffi::sqlite3_bind_pointer(statement, 1, place, c"fts5_api_ptr".as_ptr(), None);
        ffi::sqlite3_step(statement);
        check(ffi::sqlite3_finalize(statement))?;
    }
    if api.is_null() { Err(failed(ffi::SQLITE_ERROR)) } else { Ok(api) }
}

fn failed(code: c_int) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), Some("FTS5 cannot be extended".to_owned()))
}

fn check(code: c_int) -> rusqlite::Result<()> {
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(failed(code)) }
}

/// `vademecum_postings(table, sink)`: notes the row that is being looked at,
/// and answers NULL, so that SQLite keeps nothing.
unsafe extern "C" fn postings(
    api: *const ffi::Fts5ExtensionApi,
    row: *mut ffi::Fts5Context,
    answer: *mut ffi::sqlite3_context,
    count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    let complain = |what: &'static CStr| {
        // SAFETY: SQLite gave the context for this call and copies the text.
        unsafe { ffi::sqlite3_result_error(answer, what.as_ptr(), -1) };
    };
    if count != 1 {
        return complain(c"vademecum_postings takes a table and a sink");
    }
    // SAFETY: there is one argument. SQLite gives the pointer only if it was
    // bound under the same name, and then it is a sink that `collect` holds.
    let sink = unsafe { ffi::sqlite3_value_pointer(*arguments, SINK.as_ptr()) };
    // SAFETY: as above; null is refused.
    let Some(sink) = (unsafe { sink.cast::<RefCell<Sink>>().as_ref() }) else {
        return complain(c"vademecum_postings needs a sink");
    };
    let Ok(mut sink) = sink.try_borrow_mut() else {
        return complain(c"vademecum_postings: the sink is in use");
    };
    // SAFETY: FTS5 gave both pointers for this call.
    let noted = catch_unwind(AssertUnwindSafe(|| unsafe { note(&*api, row, &mut sink) }));
    match noted {
        Ok(ffi::SQLITE_OK) => {}
        // SAFETY: SQLite gave the context for this call.
        Ok(code) => unsafe { ffi::sqlite3_result_error_code(answer, code) },
        Err(_) => complain(c"vademecum_postings broke off"),
    }
}

/// Adds the row to the postings.
///
/// # Safety
/// `api` and `row` must be those of the running call.
unsafe fn note(api: &ffi::Fts5ExtensionApi, row: *mut ffi::Fts5Context, sink: &mut Sink) -> c_int {
    let (Some(phrase_count), Some(first), Some(next), Some(rowid)) =
        (api.xPhraseCount, api.xPhraseFirst, api.xPhraseNext, api.xRowid)
    else {
        return ffi::SQLITE_ERROR;
    };
    let weight = |weights: &[f64], column: c_int| {
        usize::try_from(column).ok().and_then(|column| weights.get(column)).copied().unwrap_or(1.0)
    };
    // SAFETY: these only read the row that the call is about; the iterator is
    // used while that row is current, and filled in before it is read.
    unsafe {
        let phrases = phrase_count(row);
        let mut frequency = 0.0;
        sink.places.clear();
        sink.segments.clear();
        for phrase in 0..phrases {
            let mut places = ffi::Fts5PhraseIter { a: ptr::null(), b: ptr::null() };
            let (mut column, mut offset) = (0, 0);
            let code = first(row, phrase, &raw mut places, &raw mut column, &raw mut offset);
            if code != ffi::SQLITE_OK {
                return code;
            }
            while column >= 0 {
                if phrases == 1 {
                    frequency += weight(&sink.weights, column);
                } else {
                    sink.places.push((column, offset));
                }
                sink.segments.push(offset.unsigned_abs() / SEGMENT);
                next(row, &raw mut places, &raw mut column, &raw mut offset);
            }
        }
        if phrases > 1 {
            sink.places.sort_unstable();
            sink.places.dedup();
            frequency = sink.places.iter().map(|(column, _)| weight(&sink.weights, *column)).sum();
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

/// A tokenizer has no state; FTS5 wants a pointer all the same.
unsafe extern "C" fn create(
    _: *mut c_void,
    _: *mut *const c_char,
    _: c_int,
    tokenizer: *mut *mut ffi::Fts5Tokenizer,
) -> c_int {
    // SAFETY: FTS5 gave the place where the answer goes. The pointer is never
    // read from, only handed back.
    unsafe { *tokenizer = ptr::dangling_mut() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(_: *mut ffi::Fts5Tokenizer) {}

type Token = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, c_int, c_int, c_int) -> c_int;

unsafe extern "C" fn tokenize(
    _: *mut ffi::Fts5Tokenizer,
    context: *mut c_void,
    flags: c_int,
    text: *const c_char,
    length: c_int,
    token: Option<Token>,
) -> c_int {
    let (Some(token), Ok(length)) = (token, usize::try_from(length)) else {
        return ffi::SQLITE_ERROR;
    };
    if text.is_null() || length == 0 {
        return ffi::SQLITE_OK;
    }
    // SAFETY: FTS5 gives a text of that many bytes, which lives for the call.
    let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), length) };
    let mut code = ffi::SQLITE_OK;
    let mut give = |word: &str, start: usize, end: usize, same: bool| {
        let number = |value: usize| c_int::try_from(value).unwrap_or(c_int::MAX);
        // Bytes that are no text take more room as one: FTS5 must not look there.
        let (start, end) = (start.min(length), end.min(length));
        let flag = if same { ffi::FTS5_TOKEN_COLOCATED } else { 0 };
        // SAFETY: FTS5's own function and context, for this call; it copies the word.
        code = unsafe {
            let word_start = word.as_ptr().cast::<c_char>();
            token(context, flag, word_start, number(word.len()), number(start), number(end))
        };
        if code == ffi::SQLITE_OK { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let done = catch_unwind(AssertUnwindSafe(|| {
        // What is stored does not depend on where in the text a token stands.
        if flags & ffi::FTS5_TOKENIZE_DOCUMENT != 0
            && prepared_tokens(bytes, |word, same| give(word, 0, 0, same))
        {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        if flags & ffi::FTS5_TOKENIZE_QUERY == 0 {
            index_tokens(&text, |word, place, same| give(word, place.start, place.end, same));
        } else {
            // A query names tokens, not words.
            let _broken_off = text
                .split(' ')
                .filter(|word| !word.is_empty())
                .try_for_each(|word| give(word, 0, 0, false));
        }
    }));
    if done.is_err() { ffi::SQLITE_ERROR } else { code }
}
