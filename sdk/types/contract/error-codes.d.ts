/** Nothing else in the project maps a code to a status or an exit code. */
export declare const errorCodes: {
    readonly validation_failed: {
        readonly status: 400;
        readonly exit: 7;
        readonly means: string;
    };
    readonly malformed_json: {
        readonly status: 400;
        readonly exit: 7;
        readonly means: string;
    };
    readonly unknown_parameter: {
        readonly status: 400;
        readonly exit: 7;
        readonly means: string;
    };
    readonly unknown_column: {
        readonly status: 400;
        readonly exit: 7;
        readonly means: string;
    };
    readonly invalid_cursor: {
        readonly status: 400;
        readonly exit: 7;
        readonly means: string;
    };
    readonly ambiguous_credentials: {
        readonly status: 400;
        readonly exit: 7;
        readonly means: string;
    };
    readonly unauthenticated: {
        readonly status: 401;
        readonly exit: 3;
        readonly means: 'No valid credential was sent.';
    };
    readonly login_required: {
        readonly status: 403;
        readonly exit: 3;
        readonly means: 'A personal access token cannot do this; log in.';
    };
    readonly forbidden: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly policy_unresolvable: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly data_scope_missing: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly grant_missing: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly wrong_password: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly cross_site_request: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly url_expired: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly access_denied: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly code_not_readable: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly self_approval: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly self_review: {
        readonly status: 403;
        readonly exit: 4;
        readonly means: string;
    };
    readonly not_found: {
        readonly status: 404;
        readonly exit: 5;
        readonly means: 'It does not exist, or is not visible to you.';
    };
    readonly not_in_manifest: {
        readonly status: 404;
        readonly exit: 5;
        readonly means: 'The release has no file with this SHA-256.';
    };
    readonly method_not_allowed: {
        readonly status: 405;
        readonly exit: 2;
        readonly means: 'The path does not support this method.';
    };
    readonly request_timeout: {
        readonly status: 408;
        readonly exit: 12;
        readonly means: 'The request did not arrive in time.';
    };
    readonly misdirected_request: {
        readonly status: 421;
        readonly exit: 12;
        readonly means: 'The service is not available at this host.';
    };
    readonly invalid_state_transition: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly immutable_field: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly visibility_widen_not_allowed: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly policy_in_use: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly connector_in_use: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly connector_not_configured: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly connector_read_only: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly preset_in_use: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly preset_built_in: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly grant_not_active: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly table_busy: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly not_null_violation: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly table_in_use: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly check_violation: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly type_change_refused: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly destructive_change: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly changes_off: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly history_off: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly restore_conflict: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly column_in_use: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly app_not_active: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly slug_taken: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly subdomain_taken: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly nothing_deployed: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly no_successful_deployment: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly deploy_in_progress: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly app_suspended: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly no_source: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly not_cancelable: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly artifact_expired: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly runtime_unsupported: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly git_account_required: {
        readonly status: 409;
        readonly exit: 11;
        readonly means: 'You have no linked git account.';
    };
    readonly installation_missing: {
        readonly status: 409;
        readonly exit: 11;
        readonly means: 'The app of the git host is not installed for the owner of the repository.';
    };
    readonly already_connected: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly not_connected: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly repo_exists: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly device_code_expired: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly not_deleted: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly storage_not_enabled: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly release_not_draft: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly release_incomplete: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly release_not_finalized: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly release_revoked: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly release_active: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly staging_disabled: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly not_staged: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly promotion_pending: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly promotion_required: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly staging_changed: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly not_pending: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly not_rollback_target: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly nothing_active: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly not_wider: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly request_open: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly grant_request_open: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly duration_exceeded: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly stale_deployment: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly settled: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly already_attached: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly host_active_elsewhere: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly row_in_use: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly unique_violation: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly max_affected_exceeded: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly raw_db_unavailable: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly consent_required: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly already_uploaded: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly factor_required: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly last_admin: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly group_managed: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly no_password: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly limit_reached: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly idempotency_in_progress: {
        readonly status: 409;
        readonly exit: 6;
        readonly means: string;
    };
    readonly plan_stale: {
        readonly status: 409;
        readonly exit: 15;
        readonly means: 'The plan differs from the one that was previewed.';
    };
    readonly precondition_failed: {
        readonly status: 412;
        readonly exit: 6;
        readonly means: 'It changed since you read it (If-Match).';
    };
    readonly payload_too_large: {
        readonly status: 413;
        readonly exit: 7;
        readonly means: 'The body is larger than allowed here.';
    };
    readonly uri_too_long: {
        readonly status: 414;
        readonly exit: 7;
        readonly means: 'The URL is too long.';
    };
    readonly unsupported_media_type: {
        readonly status: 415;
        readonly exit: 7;
        readonly means: 'This content type is not supported here.';
    };
    readonly range_not_satisfiable: {
        readonly status: 416;
        readonly exit: 7;
        readonly means: 'The object has no bytes in this range.';
    };
    readonly idempotency_mismatch: {
        readonly status: 422;
        readonly exit: 7;
        readonly means: string;
    };
    readonly invalid_path: {
        readonly status: 422;
        readonly exit: 7;
        readonly means: string;
    };
    readonly path_collision: {
        readonly status: 422;
        readonly exit: 7;
        readonly means: string;
    };
    readonly digest_mismatch: {
        readonly status: 422;
        readonly exit: 7;
        readonly means: string;
    };
    readonly installation_mismatch: {
        readonly status: 422;
        readonly exit: 7;
        readonly means: string;
    };
    readonly invalid_factor: {
        readonly status: 422;
        readonly exit: 7;
        readonly means: string;
    };
    readonly host_reserved: {
        readonly status: 422;
        readonly exit: 7;
        readonly means: string;
    };
    readonly resource_tier_exceeded: {
        readonly status: 422;
        readonly exit: 7;
        readonly means: string;
    };
    readonly rate_limited: {
        readonly status: 429;
        readonly exit: 8;
        readonly means: 'Too many requests; try again after Retry-After.';
    };
    readonly internal: {
        readonly status: 500;
        readonly exit: 13;
        readonly means: "Internal error. The request id identifies it in the server's log.";
    };
    readonly app_unreachable: {
        readonly status: 502;
        readonly exit: 13;
        readonly means: 'The app returned an invalid response.';
    };
    readonly app_starting: {
        readonly status: 503;
        readonly exit: 13;
        readonly means: 'The app is starting; try again in a moment.';
    };
    readonly app_timeout: {
        readonly status: 504;
        readonly exit: 13;
        readonly means: 'The app did not answer in time.';
    };
    readonly unavailable: {
        readonly status: 503;
        readonly exit: 13;
        readonly means: 'The server cannot answer now; try again.';
    };
    readonly git_host_unavailable: {
        readonly status: 503;
        readonly exit: 13;
        readonly means: 'The git host returned an error or did not answer.';
    };
    readonly connector_unavailable: {
        readonly status: 503;
        readonly exit: 13;
        readonly means: 'The data source of the connector did not answer, or refused the connection.';
    };
    readonly query_timeout: {
        readonly status: 504;
        readonly exit: 13;
        readonly means: 'The query took longer than allowed.';
    };
};
export type ErrorCode = keyof typeof errorCodes;
export declare function isErrorCode(code: string): code is ErrorCode;
