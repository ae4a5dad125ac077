import type { ErrorCode } from '@svc/contract/error-codes.ts';
import { acceptsPat, type Command } from '../command.ts';
import { sanitize } from '../framework/text.ts';
import { loginCommand } from '../session/request.ts';
import { isServiceToken } from '../session/session.ts';
import { quote } from './plan.ts';

const unknownApp =
  'Check the app and the tenant (svc whoami); svc apps list shows the apps that you can see.';
const unknownTenant = 'Check the tenant; svc tenants list shows yours.';

const steps: Record<ErrorCode, string> = {
  validation_failed: 'Fix the values; see svc <command> --help.',
  malformed_json: 'Fix the JSON.',
  unknown_parameter: 'Remove the parameter; it is not a column, or the server is older than svc.',
  unknown_column: 'Check the spelling; svc tables get <table> --app <app> shows the columns.',
  invalid_cursor: 'Start again without --cursor.',
  ambiguous_credentials: 'Unset SVC_TOKEN or SVC_API_KEY.',
  unauthenticated: 'Run svc login.',
  login_required: 'Run svc login; a personal access token cannot do this.',
  forbidden: 'Another role or ownership is required; svc whoami shows your role in each tenant.',
  wrong_password: 'Type it again, or reset it: “Forgot your password?” on the sign-in page.',
  cross_site_request: 'Send a token instead of a cookie.',
  url_expired: 'Run the command again, or get a new URL with svc apps storage get-url <key> --app <app>.',
  self_approval: 'Ask another tenant admin to approve it.',
  self_review: 'Ask a tenant admin other than the requester.',
  not_in_manifest: 'Deploy again; the files have changed since the release was created.',
  not_found: 'Check the id and the tenant (svc whoami); the list command shows what exists.',
  method_not_allowed: 'Check SVC_BASE_URL, and that svc and the server have the same version.',
  misdirected_request:
    'Check SVC_BASE_URL; the server responds to its configured hosts only (SVC_EXTRA_HOSTS).',
  request_timeout: 'Try again; on a slow connection, send less at a time.',
  invalid_state_transition: 'Check its current state with the get command.',
  immutable_field: 'Do not change this field, or create a new object with the new value.',
  visibility_widen_not_allowed:
    'Only a narrower visibility is allowed here; svc publish --app <app> --visibility <visibility> --execute requests a wider one.',
  policy_in_use: 'svc grants list shows the grants; revoke those that use the policy first.',
  data_scope_missing:
    'An owner of the app can run svc apps update <app> --data-scopes <scopes> --execute, then request a review: svc publish --app <app> --visibility <visibility> --execute.',
  grant_missing:
    'svc grants request --connector <connector> --scope <path> --preset <preset> --expires-in 8h --reason <reason> --execute requests it.',
  policy_unresolvable: 'An admin can run svc policies get <policy> and update it.',
  connector_not_configured: 'svc connectors update <connector> --host <host> … sets them.',
  connector_read_only: 'An admin can allow changes: svc connectors update <connector> --writable --execute.',
  connector_in_use: 'svc grants list --connector <id> shows the grants; revoke them first.',
  preset_in_use: 'svc grants list shows the grants; revoke those that use the preset first.',
  preset_built_in:
    'Create a preset of your own: svc presets create --name <name> --actions <actions> --execute.',
  grant_not_active:
    'Create a new grant: svc grants create --subject <subject> --connector <connector> --preset <preset> --execute.',
  table_busy: 'Try again in a moment.',
  not_null_violation: 'Add a default, make the column nullable, or update the rows first.',
  table_in_use:
    'Keep the table and its name, or ask an admin to change the grants and policies that name it.',
  check_violation: 'Update the rows first, or choose a check that they meet.',
  type_change_refused: 'Add a column of the new type, fill it and drop the old one.',
  destructive_change: 'Add --allow-destructive if the values are not needed; without it nothing is lost.',
  changes_off: 'An owner can run svc tables update <table> --app <app> --changes true --execute.',
  history_off:
    'An owner can run svc tables update <table> --app <app> --history 30d --soft-delete 30d --execute.',
  restore_conflict: 'Restore the rows one by one: svc rows history <table> <id> --app <app> shows them.',
  column_in_use: 'Keep the column, or change the rules that name it first.',
  app_not_active: 'The app is read-only; its owners and admins can run svc apps reactivate <app> --execute.',
  slug_taken: 'Choose another slug; svc apps check-availability --slug <slug> suggests some.',
  subdomain_taken: 'Choose another subdomain; svc apps check-availability --subdomain <name> suggests some.',
  nothing_deployed: 'Deploy it first.',
  no_successful_deployment: 'Deploy it first.',
  deploy_in_progress: 'Wait until the deployment ends.',
  not_wider:
    'svc apps get <app> shows the visibility; svc apps update <app> --visibility <visibility> --execute narrows it.',
  request_open:
    'svc review history --app <app> shows it; svc review withdraw <request> --execute withdraws it.',
  stale_deployment:
    'Request a review of the current deployment: svc publish --app <app> --visibility <visibility> --execute.',
  settled:
    'Show the request to see its result (svc review get <request>, svc grants requests show <request>), and make another one.',
  grant_request_open: 'svc grants requests list --view mine shows it; withdraw it to request something else.',
  duration_exceeded: 'Request a shorter time with --expires-in, or ask an admin for a grant.',
  app_suspended: 'svc apps resume <app> --execute runs it again.',
  no_source:
    'Connect a repository with svc apps git connect --app <app> --repo <owner/name>, or deploy a folder: svc deploy --app <app> --from-dir . --execute.',
  not_cancelable: 'svc deployments get <id> --app <app> shows its status.',
  artifact_expired: 'Deploy that commit again: svc deploy --app <app> --ref <commit>.',
  runtime_unsupported:
    'Change what the message names; only the operator can choose another runtime (SVC_RUNTIME) or database.',
  git_account_required: 'Run svc git-host link.',
  installation_missing:
    'Install the git host app for that owner; svc apps git connect --app <app> --repo <owner/name> shows the URL.',
  already_connected: 'Disconnect it first with svc apps git disconnect --app <app> --execute.',
  not_connected: 'Connect a repository with svc apps git connect --app <app> --repo <owner/name>.',
  repo_exists: 'Choose another name with --repo-name.',
  device_code_expired: 'Run the command again without --device-code and --resume-last for a new code.',
  access_denied: 'Run the command again, and approve the code.',
  code_not_readable: 'Ask its owners, or use --template.',
  installation_mismatch:
    'Remove --installation-id; svc git-host installations repos shows the accessible repositories.',
  app_unreachable: 'svc logs --app <app> shows the log of the app.',
  app_starting: 'Try again in a moment; svc deployments list --app <app> shows the status.',
  app_timeout: 'svc logs --app <app> shows the log of the app.',
  connector_unavailable: 'Try again; an admin can run svc connectors test <connector>.',
  git_host_unavailable: 'Try again; the operator can run svc-admin doctor.',
  not_deleted: 'Delete it first with svc apps delete <app> --execute.',
  storage_not_enabled: 'Enable it with svc apps storage enable --app <app> --execute.',
  release_not_draft: 'Create a new release: svc apps static deploy --app <app>.',
  release_incomplete:
    'Upload the missing files: svc apps static deploy --app <app> with the same folder resumes.',
  release_not_finalized:
    'Finalize it with svc apps static releases finalize --release-id <id> --app <app> --execute.',
  release_revoked: 'Choose another release; svc apps static releases list --app <app> shows them.',
  release_active:
    'Activate another release first, or stop serving: svc apps static site unpublish --app <app>.',
  staging_disabled: 'Enable it with svc apps static site staging enable --app <app> --execute.',
  not_staged: 'Stage it with svc apps static releases stage --release-id <id> --app <app> --execute.',
  promotion_pending:
    'The pending request must be decided first; svc apps static site get --app <app> shows it.',
  promotion_required:
    'svc apps static releases stage --release-id <id> --app <app> --execute, then promote-request; a tenant admin approves it.',
  staging_changed: 'Review the staged release, and request its promotion again.',
  not_pending: 'svc apps static site get --app <app> shows the staged release and open requests.',
  not_rollback_target: 'svc apps static releases list --app <app> shows the superseded releases.',
  nothing_active: 'Deploy first: svc apps static deploy --app <app>.',
  already_attached:
    'svc apps domains list --app <app> shows it; continue with svc apps domains verify <domain-id> --app <app>.',
  host_active_elsewhere: 'Remove the host from the other app, or publish the TXT record and verify again.',
  already_uploaded: 'Get a new URL: svc apps sign-icon-upload --app <app> --file <file>.',
  unique_violation: 'Choose another name.',
  raw_db_unavailable: "Ask the operator; the server's log has the details.",
  consent_required: "Ask the app's owner to run svc apps inspection-consent set --app <app> --granted.",
  last_admin: 'Make another member tenant_admin first: svc members set <user> --role tenant_admin --execute.',
  group_managed:
    'Change the group at the identity provider; `svc groups list` shows the source of each group.',
  factor_required: 'Add a passkey or an authenticator app in the console first.',
  invalid_factor: 'Start again in the console: Account → Security.',
  no_password: 'Change the password at the provider that you sign in with.',
  limit_reached: 'Delete what is no longer needed.',
  row_in_use: 'Delete or change the rows that refer to it first, or set on_delete of the reference.',
  max_affected_exceeded: 'Narrow the filter, or raise --max-affected.',
  idempotency_in_progress: 'Wait a moment, then check the result.',
  plan_stale: 'Preview again, and execute with the new --plan.',
  precondition_failed: 'Read the object again, then repeat the change.',
  payload_too_large: 'Send less at a time.',
  uri_too_long: 'Use fewer or shorter conditions.',
  unsupported_media_type: 'Check that svc and the server have the same version.',
  range_not_satisfiable: 'Request a smaller range, or the whole object.',
  idempotency_mismatch: 'Run the command again.',
  invalid_path: 'Rename the file, or remove it from the folder.',
  path_collision: 'Rename one of the two files.',
  digest_mismatch: 'Deploy again; a file changed while it was uploaded.',
  host_reserved: 'Choose a host of your own domain.',
  resource_tier_exceeded: 'Choose a smaller tier; svc apps resource-presets shows the allowed tiers.',
  rate_limited: 'Wait a moment, then try again.',
  internal: 'Report the request id to the operator.',
  unavailable: 'Try again in a moment.',
  query_timeout:
    'Request less at a time, or add an index: svc tables indexes add <table> --app <app> --column <column> --execute.',
};

const stepsByWords: Readonly<Record<string, Partial<Record<ErrorCode, string>>>> = {
  apps: {
    not_found: unknownApp,
    forbidden: 'Ask the owner of the app; owners and admins see it with svc apps co-owners list --app <app>.',
  },
  'apps restart': { runtime_unsupported: 'Deploy it again: svc deploy --app <app> --execute' },
  'apps suspend': { invalid_state_transition: 'An archived app is not running.' },
  'apps resume': {
    invalid_state_transition: 'Reactivate it first with svc apps reactivate <app> --execute.',
    resource_tier_exceeded:
      'Choose a smaller tier with svc apps update <app> --resource-tier <tier> --execute, or ask a tenant admin for more.',
  },
  'apps templates': {
    not_found: 'Check the id and the tenant; svc apps templates list shows the templates.',
    forbidden: 'Ask a tenant admin; svc members list shows who they are.',
  },
  'apps templates add': {
    not_found:
      'Check the tenant and the repository, its ref and path; svc git-host installations repos shows the accessible repositories.',
  },
  'apps purge': {
    not_found: 'It may already be purged; svc apps list --deleted shows deleted apps.',
    table_busy: 'A table is still in use, for example by an export; try again in a moment.',
  },
  rows: {
    unique_violation: 'Use another value, or update the existing row; rows import has --on-conflict.',
    not_found: 'Check the app, the table and the id; svc tables list --app <app> shows the tables.',
    forbidden:
      'Ask an owner of the app for a grant: svc tables grants issue --app <app> --table <table> --principal-type user --principal-id <principal> --actions <actions> --execute.',
  },
  'rows import': {
    validation_failed: 'Nothing was stored. Fix the named lines, then run the same command again.',
    unique_violation: 'Nothing was stored. Use --on-conflict and --resolution for existing rows.',
  },
  tables: {
    not_found: 'Check the names and the tenant (svc whoami); svc tables list --app <app> shows the tables.',
  },
  'apps storage': {
    not_found: 'Check the app and the key; svc apps storage ls --app <app> shows the keys.',
    forbidden: 'Ask an owner of the app; admins cannot read objects.',
    limit_reached: 'Delete what is no longer needed: svc apps storage rm <key> --app <app> --execute.',
    app_not_active: 'Objects are read-only; ask an owner to reactivate the app.',
    payload_too_large: 'Store it in parts.',
  },
  'apps bootstrap': { not_found: 'Check the template and the tenant; svc apps templates list shows them.' },
  'apps bootstrap-status': {
    not_found: 'Check the id and the tenant; a run is visible to the user who started it.',
  },
  'apps bootstrap-cancel': {
    not_found: 'Check the id and the tenant; only the user who started a run can cancel it.',
    invalid_state_transition: 'svc apps bootstrap-status <id> shows how it ended.',
  },
  'apps git': {
    not_found:
      'Check the app and the repository; svc git-host installations repos shows the accessible repositories.',
  },
  'apps detect': {
    not_found:
      'Check owner, name, ref and path; svc git-host installations repos shows the accessible repositories.',
  },
  deploy: {
    not_found: unknownApp,
    runtime_unsupported:
      'Create an app without --deploy-method compose, add a start command to svc.yaml, such as start: node server.js, and deploy it. Containers need SVC_RUNTIME=docker, which only the operator can set.',
  },
  env: { not_found: unknownApp },
  logs: {
    not_found:
      'Check the app (svc apps list) and the deployment: svc deployments list --app <app> shows the deployments.',
  },
  metrics: { not_found: unknownApp },
  open: { not_found: unknownApp },
  tenants: { not_found: unknownTenant },
  deployments: {
    not_found: 'Check the app and the id; svc deployments list --app <app> shows the deployments.',
    not_rollback_target:
      'svc deployments list --app <app> shows them; choose a superseded one that is retained.',
  },
  'git-host repos': {
    not_found: 'Check owner and name; svc git-host installations repos shows the repositories.',
  },
  'git-host accounts': { not_found: 'svc git-host accounts list shows the ids.' },
  'git-host complete': {
    not_found:
      'Start again with svc apps git connect --app <app> --repo <owner/name>; a state works once, for 15 minutes.',
  },
  'apps domains': {
    not_found: 'Check the app and the id; svc apps domains list --app <app> shows the domains.',
  },
  'apps static': {
    limit_reached:
      'Finalize or discard drafts: svc apps static releases revoke --release-id <id> --app <app> --execute.',
  },
  'apps static releases': {
    not_found: 'Check the app and the release; svc apps static releases list --app <app> shows the releases.',
  },
  'apps static releases promote-reject': {
    self_approval:
      'To withdraw the request, stage another release, or run svc apps static site staging disable --app <app> --execute.',
  },
  review: {
    not_found: 'Check the id and the tenant (svc whoami); svc review history --app <app> shows the requests.',
  },
  'review reject': {
    self_review: 'To withdraw it, run svc review withdraw <request> --execute.',
  },
  publish: {
    not_found: unknownApp,
    stale_deployment:
      'svc deployments list --app <app> shows the live deployment, which is the default of --deployment-id.',
  },
  'tables grants issue': {
    unique_violation:
      'Revoke that grant with svc tables grants revoke --app <app> --table <table> --grant-id <id> --execute, then issue the new one.',
  },
  'tables indexes add': {
    unique_violation: 'Choose another name; if rows share a value, update them or remove --unique.',
  },
};

/** For rows behind a connector. */
const stepsByConnector: Partial<Record<ErrorCode, string>> = {
  not_found:
    'svc access preview --connector <connector> --resource-path <table> says why; svc grants tables shows the tables that you can read.',
  unknown_column: 'Check the spelling; svc grants tables shows the columns that you can read.',
  forbidden:
    'svc grants tables shows what your grants allow; svc grants request --connector <connector> --scope <table> --preset <preset> --expires-in 8h --reason <reason> --execute requests more.',
};

const stepsByCredential: Record<Credential, Partial<Record<ErrorCode, string>>> = {
  SVC_API_KEY: {
    unauthenticated:
      'SVC_API_KEY is wrong, revoked or expired. Create another with svc pats create --name <name> --execute, or unset it and run svc login.',
    forbidden:
      'The token in SVC_API_KEY or its issuer is not allowed to do this. Unset SVC_API_KEY to use your login, or create a token with the action that is missing: svc pats create --actions read,write,code,deploy --name <name> --execute.',
  },
  SVC_TOKEN: {
    unauthenticated: 'SVC_TOKEN is no longer valid: set a new one, or unset it and run svc login.',
  },
  SVC_SERVICE_ACCOUNT: {
    unauthenticated:
      'The token of the service account is revoked or expired. An owner of the app creates another with svc service-accounts tokens create <account> --app <app> --name <name> --execute.',
    forbidden:
      'An owner of the app can give the service account more actions: svc service-accounts update <account> --app <app> --actions rows,tables,storage,deploy --execute.',
    login_required: 'A service account cannot do this: log in as an owner of the app, svc login.',
    not_found: 'A service account can use its own app only: check --app and --tenant.',
  },
};

export type Credential = 'SVC_API_KEY' | 'SVC_TOKEN' | 'SVC_SERVICE_ACCOUNT';

export interface FailedCall {
  words: string;
  credential: Credential | null;
  app: string | undefined;
  table: string | undefined;
  connector: string | undefined;
  profile: string | undefined;
  baseUrl: string | undefined;
}

export function nextStep(
  code: ErrorCode,
  asked: FailedCall,
  retryAfterSeconds: number | null = null,
): string | undefined {
  if (retryAfterSeconds !== null) return `Try again in ${retryAfterSeconds} s.`;
  const step = code === 'not_found' ? notFoundStep(asked) : findStep(code, asked);
  return step === undefined ? undefined : fillPlaceholders(step, asked);
}

function findStep(code: ErrorCode, { words, credential, connector }: FailedCall): string | undefined {
  const signed = credential === null ? undefined : stepsByCredential[credential][code];
  const behind = connector !== undefined && words.startsWith('rows ') ? stepsByConnector[code] : undefined;
  return signed ?? behind ?? stepForWords(words, code) ?? steps[code];
}

/** Listings of a tenant, for which "not found" means the tenant. */
const tenantListings = / (list|mine|owned|received|workspace|discover|search)$/;

function notFoundStep(asked: FailedCall): string | undefined {
  const { words, app, connector, baseUrl } = asked;
  // A server has no base path.
  if (baseUrl !== undefined && (URL.parse(baseUrl)?.pathname ?? '/') !== '/')
    return `Check SVC_BASE_URL: it must not have a path, and it is ${baseUrl}.`;
  if (app === undefined && connector === undefined && tenantListings.test(words)) return unknownTenant;
  const step = findStep('not_found', asked);
  return step?.includes(`svc ${words} `)
    ? 'Check the app and the tenant; svc apps list and svc tenants list show yours.'
    : step;
}

function fillPlaceholders(step: string, { words, app, table, connector, profile }: FailedCall): string {
  const replacementFor = (value: string | undefined) => (placeholder: string) =>
    value === undefined ? placeholder : quote(sanitize(value));
  return step
    .replaceAll('<command>', words)
    .replaceAll('svc login', loginCommand(profile))
    .replaceAll('<app>', replacementFor(app))
    .replaceAll('<table>', replacementFor(table))
    .replaceAll('<connector>', replacementFor(connector));
}

function stepForWords(words: string, code: ErrorCode): string | undefined {
  const parts = words.split(' ');
  for (let length = parts.length; length > 0; length -= 1) {
    const step = stepsByWords[parts.slice(0, length).join(' ')]?.[code];
    if (step !== undefined) return step;
  }
  return undefined;
}

export function envCredential(
  env: Readonly<Record<string, string | undefined>>,
  command: Command | undefined,
): Credential | null {
  if (env.SVC_TOKEN) return isServiceToken(env.SVC_TOKEN) ? 'SVC_SERVICE_ACCOUNT' : 'SVC_TOKEN';
  if (env.SVC_API_KEY && command !== undefined && acceptsPat(command)) return 'SVC_API_KEY';
  return env.SVC_SERVICE_ACCOUNT ? 'SVC_SERVICE_ACCOUNT' : null;
}
