//! Functions of `MySQL` and `MariaDB` that belong to the server.

/// Functions of the server, and keywords and types that may stand before a parenthesis, in order.
///
/// The list is from the catalogs of `MariaDB` 10.11 and `MySQL` 9.7. It decides only for users who
/// may not read the catalog of loadable functions.
const SERVER_FUNCTIONS: &str = "\
    abs acos add_months adddate addtime aes_decrypt aes_encrypt against all and any any_value as \
    ascii asin atan atan2 avg between bin bin_to_uuid binary binlog_gtid_pos bit bit_and \
    bit_count bit_length bit_or bit_xor blob by case cast ceil ceiling char char_length \
    character character_length charset chr coalesce coercibility collation column_check \
    column_exists column_json column_list columns compress concat concat_operator_oracle \
    concat_ws connection_id conv convert convert_tz cos cot count crc32 crc32c cume_dist curdate \
    current_date current_role current_time current_timestamp current_user curtime database date \
    date_add date_format date_sub datediff datetime day dayname dayofmonth dayofweek dayofyear \
    dec decimal decode decode_histogram decode_oracle default degrees dense_rank des_decrypt \
    des_encrypt distance distinct div double else elt encode encrypt enum except exists exp \
    export_set extract extractvalue field filter find_in_set first_value fixed float floor force \
    format format_bytes format_pico_time found_rows from from_base64 from_days from_unixtime \
    geomcollection geometrycollection get_format greatest group_concat grouping gtid_subset \
    gtid_subtract having hex hour icu_version if ifnull ignore in index inet6_aton inet6_ntoa \
    inet_aton inet_ntoa insert instr int integer intersect interval is is_free_lock is_ipv4 \
    is_ipv4_compat is_ipv4_mapped is_ipv6 is_used_lock is_uuid is_visible_dd_object isnull join \
    json json_array json_array_append json_array_insert json_array_intersect json_arrayagg \
    json_compact json_contains json_contains_path json_depth json_detailed json_equals \
    json_exists json_extract json_insert json_key_value json_keys json_length json_loose \
    json_merge json_merge_patch json_merge_preserve json_normalize json_object \
    json_object_filter_keys json_object_to_array json_objectagg json_overlaps json_pretty \
    json_query json_quote json_remove json_replace json_schema_valid \
    json_schema_validation_report json_search json_set json_storage_free json_storage_size \
    json_table json_type json_unquote json_valid json_value kdf key lag last_day last_insert_id \
    last_value lastval lateral lcase lead least left length lengthb like limit linestring ln \
    localtime localtimestamp locate log log10 log2 lower lpad lpad_oracle ltrim ltrim_oracle \
    make_set makedate maketime match max mbrcontains mbrcoveredby mbrcovers mbrdisjoint \
    mbrequals mbrintersects mbroverlaps mbrtouches mbrwithin md5 median microsecond mid min \
    minute mod month monthname multilinestring multipoint multipolygon name_const \
    natural_sort_key nchar nested not now nth_value ntile nullif numeric nvarchar nvl nvl2 oct \
    octet_length offset old_password on or ord over partition password percent_rank \
    percentile_cont percentile_disc period_add period_diff pi point polygon position pow power \
    previous ps_current_thread_id ps_thread_id quarter quote radians rand random_bytes range \
    rank real regexp regexp_instr regexp_like regexp_replace regexp_substr repeat replace \
    replace_oracle reverse right rlike round row row_count row_number rownum rows rpad \
    rpad_oracle rtrim rtrim_oracle schema schemas sec_to_time second select session_user set \
    sformat sha sha1 sha2 sign signed sin some soundex space sqrt st_area st_asbinary \
    st_asgeojson st_astext st_buffer st_buffer_strategy st_centroid st_collect st_contains \
    st_convexhull st_crosses st_difference st_dimension st_disjoint st_distance \
    st_distance_sphere st_endpoint st_envelope st_equals st_exteriorring st_frechetdistance \
    st_geohash st_geomcollfromtext st_geomcollfromwkb st_geometryn st_geometrytype \
    st_geomfromgeojson st_geomfromtext st_geomfromwkb st_hausdorffdistance st_interiorringn \
    st_intersection st_intersects st_isclosed st_isempty st_issimple st_isvalid \
    st_latfromgeohash st_latitude st_length st_linefromtext st_linefromwkb \
    st_lineinterpolatepoint st_lineinterpolatepoints st_longfromgeohash st_longitude \
    st_makeenvelope st_mlinefromtext st_mlinefromwkb st_mpointfromtext st_mpointfromwkb \
    st_mpolyfromtext st_mpolyfromwkb st_numgeometries st_numinteriorrings st_numpoints \
    st_overlaps st_pointatdistance st_pointfromgeohash st_pointfromtext st_pointfromwkb \
    st_pointn st_polyfromtext st_polyfromwkb st_simplify st_srid st_startpoint st_swapxy \
    st_symdifference st_touches st_transform st_union st_validate st_within st_x st_y \
    statement_digest statement_digest_text std stddev stddev_pop stddev_samp str_to_date strcmp \
    string_to_vector subdate substr substr_oracle substring substring_index subtime sum sys_guid \
    sysdate system_user table tan text then time time_format time_to_sec timediff timestamp \
    timestampadd timestampdiff to_base64 to_char to_days to_seconds trim trim_oracle truncate \
    ucase uncompress uncompressed_length unhex union unix_timestamp unsigned updatexml upper use \
    user using utc_date utc_time utc_timestamp uuid uuid_to_bin value values var_pop var_samp \
    varbinary varchar variance vec_distance vec_distance_cosine vec_distance_euclidean \
    vec_fromtext vec_totext vector_dim vector_to_string version week weekday weekofyear \
    weight_string when where window with within xmltype xor year yearweek";

/// Returns true if the name is one of the server's own functions, or no function.
pub fn is_server_function(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.is_empty() && SERVER_FUNCTIONS.split(' ').any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_server_functions() {
        for name in ["concat", "COUNT", "json_table", "year", "abs", "yearweek"] {
            assert!(is_server_function(name), "{name}");
        }
        for name in ["sys_exec", "", "concat count", "sleep", "con"] {
            assert!(!is_server_function(name), "{name}");
        }
    }
}
