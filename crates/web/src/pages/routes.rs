//! Routes of the pages.

use actix_web::{
    HttpResponse, guard,
    http::header,
    middleware::from_fn,
    web::{self, get, post},
};
use vademecum_services::permalink::ITEM_PREFIX;

use super::{
    super::credentials::authenticate_request, account, activity, clip, collections, connect, edit,
    health, history, home, imports, item, map, search, selection, timeline,
};
use crate::templates::{
    CLIP_PATH, DELETE_NOTE_PATH, EDIT_PREFIX, END_LOGIN_PATH, HISTORY_PREFIX, REMOVE_UPLOAD_PATH,
    RESTORE_ITEM_PATH, REVOKE_KEY_PATH, SAVE_CLIP_PATH, SAVE_NOTE_PATH, SELECTION_PATH, Script,
    Section, StyleSheet, TAG_ITEM_PATH, UNDO_PATH, UPLOAD_PATH,
};

/// Adds the routes.
pub(crate) fn configure_page_routes(app: &mut web::ServiceConfig) {
    app.route(Section::Home.path(), get().to(home::show_home))
        .route(Section::Search.path(), get().to(search::show_search))
        .route(&format!("{ITEM_PREFIX}{{item:.*}}"), get().to(item::show_item))
        .route(Section::NewNote.path(), get().to(edit::show_new_note))
        .route(SAVE_NOTE_PATH, post().to(edit::save_note))
        .route(TAG_ITEM_PATH, post().to(edit::tag_item))
        .route(DELETE_NOTE_PATH, post().to(edit::delete_note))
        .route(SELECTION_PATH, post().to(selection::change_selection))
        .route(UNDO_PATH, post().to(edit::undo_changes))
        .route(RESTORE_ITEM_PATH, post().to(edit::restore_item))
        .route(&format!("{EDIT_PREFIX}{{item:.*}}"), get().to(edit::show_editor))
        .route(&format!("{HISTORY_PREFIX}{{item:.*}}"), get().to(history::show_history))
        .route(Section::Timeline.path(), get().to(timeline::show_timeline))
        .route(Section::Map.path(), get().to(map::show_map))
        .route(Section::Imports.path(), get().to(imports::show_imports))
        .route(UPLOAD_PATH, post().to(imports::upload_files))
        .route(REMOVE_UPLOAD_PATH, post().to(imports::remove_upload))
        .route(Section::Collections.path(), get().to(collections::show_collections))
        .route(Section::Activity.path(), get().to(activity::show_activity))
        .route(Section::Clients.path(), get().to(account::show_clients))
        .route(REVOKE_KEY_PATH, post().to(account::revoke_key))
        .route(END_LOGIN_PATH, post().to(account::end_login))
        .route(Section::Connect.path(), get().to(connect::show_connect))
        .route(Section::Health.path(), get().to(health::show_health))
        .route(SAVE_CLIP_PATH, post().to(clip::save_form))
        .service(
            web::resource(CLIP_PATH)
                .guard(guard::Post())
                .wrap(from_fn(authenticate_request))
                .route(post().to(clip::post_clip)),
        )
        .route(CLIP_PATH, get().to(clip::show_clip))
        .route(StyleSheet::path(), get().to(style_sheet))
        .route(Script::path(), get().to(script));
}

/// Returns the style sheet, which browsers may keep for a year.
async fn style_sheet() -> HttpResponse {
    asset("text/css; charset=utf-8", StyleSheet::content())
}

/// Returns the script, which browsers may keep for a year.
async fn script() -> HttpResponse {
    asset("text/javascript; charset=utf-8", Script::content())
}

/// Returns a file that browsers may keep: another content has another name.
fn asset(kind: &'static str, content: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"))
        .content_type(kind)
        .body(content)
}
