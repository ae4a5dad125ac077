/**
 * Every code an answer can carry: its HTTP status, the exit code of `svc`, and what it means.
 * One row per code; nothing else in the project maps a code to a status or an exit code.
 */
export const errorCodes = {
  // 400: malformed or invalid input
  validation_failed: {
    status: 400,
    exit: 7,
    means: 'The input does not fit what is expected; `errors` says where.',
  },
  malformed_json: { status: 400, exit: 7, means: 'The body is not valid JSON.' },
  unknown_parameter: { status: 400, exit: 7, means: 'A query parameter is not known here.' },
  unknown_column: { status: 400, exit: 7, means: 'A column is not known, or not visible to you.' },
  invalid_cursor: { status: 400, exit: 7, means: 'The cursor is damaged, or belongs to another listing.' },
  ambiguous_credentials: { status: 400, exit: 7, means: 'Send either Authorization or X-Api-Key, not both.' },
  // 401, 403, 404: who and what
  unauthenticated: { status: 401, exit: 3, means: 'No valid credential was sent.' },
  login_required: { status: 403, exit: 3, means: 'A personal access token can not do this; log in.' },
  forbidden: { status: 403, exit: 4, means: 'You may not do this.' },
  cross_site_request: {
    status: 403,
    exit: 4,
    means: 'A session cookie only counts on requests of the same site.',
  },
  url_expired: { status: 403, exit: 4, means: 'The signed address has expired; ask for a new one.' },
  access_denied: { status: 403, exit: 4, means: 'The request was denied at the git host.' },
  code_not_readable: {
    status: 403,
    exit: 4,
    means: 'You see the app and not its code, and it was not made from a template.',
  },
  self_approval: { status: 403, exit: 4, means: 'Somebody else than the requester must approve this.' },
  self_review: { status: 403, exit: 4, means: 'Somebody else than the requester must decide this.' },
  not_found: { status: 404, exit: 5, means: 'It does not exist, or you may not see it.' },
  not_in_manifest: { status: 404, exit: 5, means: 'The release has no file with this sum.' },
  method_not_allowed: { status: 405, exit: 2, means: 'This path does not take this method.' },
  request_timeout: { status: 408, exit: 12, means: 'The request did not arrive in time.' },
  misdirected_request: {
    status: 421,
    exit: 12,
    means: 'The service does not answer at this host.',
  },
  // 409: conflict or wrong state
  invalid_state_transition: { status: 409, exit: 6, means: 'The present state does not allow this.' },
  immutable_field: { status: 409, exit: 6, means: 'This field can not change after creation.' },
  visibility_widen_not_allowed: { status: 409, exit: 6, means: 'Visibility is widened by `publish` only.' },
  policy_in_use: { status: 409, exit: 6, means: 'An active grant refers to this policy.' },
  connector_in_use: { status: 409, exit: 6, means: 'An active grant refers to this connector.' },
  preset_in_use: { status: 409, exit: 6, means: 'An active grant refers to this preset.' },
  preset_built_in: { status: 409, exit: 6, means: 'Built-in presets can not be changed or deleted.' },
  grant_not_active: { status: 409, exit: 6, means: 'The grant is revoked or expired.' },
  table_busy: {
    status: 409,
    exit: 6,
    means: 'The table is in use and could not be changed without making readers wait; try again.',
  },
  not_null_violation: { status: 409, exit: 6, means: 'Rows that are there hold no value for the column.' },
  column_in_use: { status: 409, exit: 6, means: 'The column has a part to play; it can not be dropped.' },
  app_not_active: { status: 409, exit: 6, means: 'The app is archived; its rows can be read only.' },
  slug_taken: {
    status: 409,
    exit: 6,
    means: 'Another app of the tenant has this slug, or a deleted one keeps it.',
  },
  subdomain_taken: {
    status: 409,
    exit: 6,
    means: 'Another app has this subdomain, or it is kept for a tenant that had it.',
  },
  nothing_deployed: { status: 409, exit: 6, means: 'Nothing of the app is deployed.' },
  no_successful_deployment: {
    status: 409,
    exit: 6,
    means: 'No deployment of the app ended well, so there is nothing to start again.',
  },
  deploy_in_progress: {
    status: 409,
    exit: 6,
    means: 'A deployment is being released; try again when it is done.',
  },
  app_suspended: { status: 409, exit: 6, means: 'The app is suspended; resume it first.' },
  no_source: {
    status: 409,
    exit: 6,
    means: 'No repository is connected and no source was uploaded: there is nothing to deploy.',
  },
  not_cancelable: { status: 409, exit: 6, means: 'The deployment is being released, or has ended.' },
  artifact_expired: { status: 409, exit: 6, means: 'What the deployment had built is not kept any more.' },
  runtime_unsupported: {
    status: 409,
    exit: 6,
    means: 'What apps run on here can not do this; `detail` says what it needs.',
  },
  git_account_required: { status: 409, exit: 11, means: 'No account of yours at the git host is linked.' },
  installation_missing: {
    status: 409,
    exit: 11,
    means: 'The app of the git host is not installed for the owner of the repository.',
  },
  already_connected: { status: 409, exit: 6, means: 'The app is connected to another repository.' },
  not_connected: { status: 409, exit: 6, means: 'No repository is connected.' },
  repo_exists: { status: 409, exit: 6, means: 'A repository of this name is there already.' },
  device_code_expired: { status: 409, exit: 6, means: 'The code was not approved in time.' },
  not_deleted: { status: 409, exit: 6, means: 'Only a deleted app can be purged.' },
  storage_not_enabled: { status: 409, exit: 6, means: 'Storage is not enabled for the app.' },
  release_not_draft: { status: 409, exit: 6, means: 'The release takes no more files.' },
  release_incomplete: {
    status: 409,
    exit: 6,
    means: 'Files of the release have not arrived; `errors` names them.',
  },
  release_not_finalized: { status: 409, exit: 6, means: 'Only a finalized release can be used for this.' },
  release_revoked: { status: 409, exit: 6, means: 'The release was revoked and is never shown again.' },
  release_active: { status: 409, exit: 6, means: 'The release is what visitors see; it can not be revoked.' },
  staging_disabled: { status: 409, exit: 6, means: 'Staging is not enabled for the site.' },
  not_staged: { status: 409, exit: 6, means: 'Only the staged release can be promoted.' },
  promotion_pending: { status: 409, exit: 6, means: 'Another promotion waits for its review.' },
  promotion_required: {
    status: 409,
    exit: 6,
    means: 'The app is shown beyond its owners: stage the release and have it promoted.',
  },
  staging_changed: {
    status: 409,
    exit: 6,
    means: 'What is staged or shown has changed since the review was asked for.',
  },
  not_pending: { status: 409, exit: 6, means: 'No request to promote the release is open.' },
  not_rollback_target: {
    status: 409,
    exit: 6,
    means: 'The release was never shown, or is not kept any more.',
  },
  nothing_active: { status: 409, exit: 6, means: 'The site shows nothing.' },
  not_wider: { status: 409, exit: 6, means: 'The app is shown to as many people already.' },
  request_open: { status: 409, exit: 6, means: 'Another request to publish the app waits for its review.' },
  stale_deployment: {
    status: 409,
    exit: 6,
    means: 'What was to be reviewed is not what is deployed.',
  },
  settled: { status: 409, exit: 6, means: 'The request was decided, or is over.' },
  already_attached: { status: 409, exit: 6, means: 'The app has this host already.' },
  host_active_elsewhere: { status: 409, exit: 6, means: 'Another app has proved that the host is its own.' },
  unique_violation: { status: 409, exit: 6, means: 'Something with this value exists already.' },
  raw_db_unavailable: {
    status: 409,
    exit: 6,
    means: 'The database server can not hold databases of apps safely; an operator must prepare it.',
  },
  consent_required: { status: 409, exit: 6, means: 'No consent of the owner to inspect the app stands.' },
  already_uploaded: { status: 409, exit: 6, means: 'This upload address was used already.' },
  last_admin: { status: 409, exit: 6, means: 'A tenant keeps at least one active admin.' },
  limit_reached: { status: 409, exit: 6, means: 'There are as many of these as allowed.' },
  idempotency_in_progress: {
    status: 409,
    exit: 6,
    means: 'A request with this Idempotency-Key is still running.',
  },
  plan_stale: { status: 409, exit: 15, means: 'What would change is no longer what was previewed.' },
  // 412 … 429
  precondition_failed: { status: 412, exit: 6, means: 'It changed since you read it (If-Match).' },
  payload_too_large: { status: 413, exit: 7, means: 'The body is larger than allowed here.' },
  uri_too_long: { status: 414, exit: 7, means: 'The address is longer than allowed.' },
  unsupported_media_type: { status: 415, exit: 7, means: 'This content type is not taken here.' },
  range_not_satisfiable: { status: 416, exit: 7, means: 'The object has no bytes in this range.' },
  idempotency_mismatch: {
    status: 422,
    exit: 7,
    means: 'This Idempotency-Key was used with another request.',
  },
  invalid_path: {
    status: 422,
    exit: 7,
    means: 'A path can not be one of a site; `errors` says which and why.',
  },
  path_collision: { status: 422, exit: 7, means: 'Two paths of a release can not be told apart everywhere.' },
  digest_mismatch: {
    status: 422,
    exit: 7,
    means: 'What arrived does not have the sum it was announced with.',
  },
  installation_mismatch: {
    status: 422,
    exit: 7,
    means: 'The installation is not one of the owner of the repository that you reach.',
  },
  host_reserved: { status: 422, exit: 7, means: 'The host can not be a custom domain.' },
  resource_tier_exceeded: { status: 422, exit: 7, means: "The resource tier is above the tenant's maximum." },
  rate_limited: { status: 429, exit: 8, means: 'Too many requests; try again after Retry-After.' },
  // 5xx
  internal: { status: 500, exit: 13, means: 'A fault of the server. The request id finds it in the log.' },
  app_unreachable: { status: 502, exit: 13, means: 'The app runs, and its answer could not be read.' },
  app_starting: { status: 503, exit: 13, means: 'The app is about to run; try again in a moment.' },
  app_timeout: { status: 504, exit: 13, means: 'The app has not answered in time.' },
  unavailable: { status: 503, exit: 13, means: 'The server can not answer just now; try again.' },
  git_host_unavailable: { status: 503, exit: 13, means: 'The git host does not answer as it should.' },
  query_timeout: { status: 504, exit: 13, means: 'The query took longer than allowed.' },
} as const satisfies Record<string, ErrorCodeRow>;

interface ErrorCodeRow {
  status: number;
  exit: number;
  means: string;
}

export type ErrorCode = keyof typeof errorCodes;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCodes, code);
}
