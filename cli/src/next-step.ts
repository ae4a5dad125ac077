import type { ErrorCode } from '@svc/contract/error-codes.ts';
import { loginLine } from './errors.ts';
import { plain } from './output.ts';
import { quote } from './quote.ts';

const unknownApp = 'Check the app and the tenant (svc whoami); svc apps list shows what you can see.';
const unknownTenant = 'Check the tenant; svc tenants list shows yours.';

/** What a person can do about an error of the server. */
const steps: Record<ErrorCode, string> = {
  validation_failed: 'Correct the values; svc <command> --help lists what is taken.',
  malformed_json: 'Correct the JSON that was given.',
  unknown_parameter: 'Leave it out; what is no column is no filter, and an older server may not know it yet.',
  unknown_column: 'Check the spelling; svc tables get <table> --app <app> shows the columns.',
  invalid_cursor: 'Start again without --cursor.',
  ambiguous_credentials: 'Unset SVC_TOKEN or SVC_API_KEY.',
  unauthenticated: 'Run svc login.',
  login_required: 'Run svc login; a personal access token is good for the data API only.',
  forbidden: 'It takes another role, or to be an owner; svc whoami shows what you are in which tenant.',
  cross_site_request: 'Send a token instead of a cookie.',
  url_expired: 'Run the command again, or ask for a new address with svc apps storage get-url.',
  self_approval: 'Ask another admin of the tenant to approve it.',
  self_review: 'Ask an admin of the tenant who did not ask for it.',
  not_in_manifest: 'Deploy again; the files have changed since they were listed.',
  not_found: 'Check the id and the tenant (svc whoami); the list command shows what there is.',
  method_not_allowed: 'Check SVC_BASE_URL, and that svc and the server are of the same version.',
  misdirected_request: 'Check SVC_BASE_URL; a server answers at the names it was given (SVC_EXTRA_HOSTS).',
  request_timeout: 'Try again; where the line is slow, send less at a time.',
  invalid_state_transition: 'Look at its present state first; its get command shows it.',
  immutable_field: 'Leave this field as it is, or make a new one that has it.',
  visibility_widen_not_allowed:
    'Here it can only become narrower; svc publish asks for a review that makes it wider.',
  policy_in_use: 'svc grants list shows the grants; revoke those that name the policy first.',
  connector_in_use: 'svc grants list --connector <id> shows the grants; revoke them first.',
  preset_in_use: 'svc grants list shows the grants; revoke those that use the preset first.',
  preset_built_in: 'Create a preset of your own with svc presets create.',
  grant_not_active: 'Create a new grant with svc grants create.',
  table_busy: 'Try again in a moment, or when less is going on.',
  not_null_violation: 'Give the column a default or make it nullable, or fill the rows in first.',
  column_in_use: 'Keep it; to be rid of it, move the rows to a table without it.',
  app_not_active:
    'It can still be read; svc apps reactivate <app> --execute brings it back, for its owners and admins.',
  slug_taken: 'Choose another slug; svc apps check-availability --slug <slug> suggests some.',
  subdomain_taken: 'Choose another subdomain; svc apps check-availability --subdomain <name> suggests some.',
  nothing_deployed: 'Deploy it first.',
  no_successful_deployment: 'Deploy it first.',
  deploy_in_progress: 'Wait until the deployment has ended.',
  not_wider: 'svc apps get <app> shows who sees it; svc apps update --visibility makes it narrower.',
  request_open:
    'svc review history --app <app> shows it; svc review withdraw <request> --execute takes it back.',
  stale_deployment:
    'Ask for a review of what is deployed now: svc publish --app <app> --visibility <visibility> --execute.',
  settled: 'svc review get <request> shows what became of it; svc publish asks once more.',
  app_suspended: 'svc apps resume <app> --execute runs it again.',
  no_source: 'Connect a repository with svc apps git connect, or deploy a folder: svc deploy --from-dir .',
  not_cancelable: 'svc deployments get <id> --app <app> shows how it stands.',
  artifact_expired: 'Deploy that commit again: svc deploy --app <app> --ref <commit>.',
  runtime_unsupported: 'Ask the operator what apps run on here (SVC_RUNTIME), or deploy in another way.',
  git_account_required: 'Run svc git-host link.',
  installation_missing: 'Install the app of the git host for that owner; svc apps git connect shows where.',
  already_connected: 'svc apps git disconnect --app <app> --execute disconnects it first.',
  not_connected: 'svc apps git connect --app <app> --repo <owner/name> connects one.',
  repo_exists: 'Choose another name with --repo-name.',
  device_code_expired: 'Run the command again without --device-code and --resume-last for a new code.',
  access_denied: 'Run the command again, and approve the code this time.',
  code_not_readable: 'Ask its owners, or give --template.',
  installation_mismatch:
    'Leave --installation-id out; svc git-host installations repos shows what yours reaches.',
  app_unreachable: 'svc logs --app <app> shows what the app says.',
  app_starting: 'Try again in a moment; svc deployments list --app <app> shows how it stands.',
  app_timeout: 'svc logs --app <app> shows what the app says.',
  git_host_unavailable: 'Try again; svc-admin doctor tells the operator what is wrong.',
  not_deleted: 'svc apps delete <app> --execute deletes it first.',
  storage_not_enabled: 'svc apps storage enable --app <app> --execute enables it.',
  release_not_draft: 'Make a new release: svc apps static deploy --app <app>.',
  release_incomplete:
    'Upload what is missing: svc apps static deploy --app <app> with the same folder goes on.',
  release_not_finalized:
    'svc apps static releases finalize --release-id <id> --app <app> --execute finalizes it.',
  release_revoked: 'Choose another release; svc apps static releases list --app <app> shows them.',
  release_active:
    'Make another release active first, or stop serving: svc apps static site unpublish --app <app>.',
  staging_disabled: 'svc apps static site staging enable --app <app> --execute enables it.',
  not_staged: 'svc apps static releases stage --release-id <id> --app <app> --execute stages it.',
  promotion_pending: 'Have it approved or rejected first; svc apps static site get --app <app> shows it.',
  promotion_required:
    'svc apps static releases stage --release-id <id> --app <app> --execute, then promote-request; an admin of the tenant approves it.',
  staging_changed: 'Look at what is staged now, and request its promotion anew.',
  not_pending: 'svc apps static site get --app <app> shows what is staged and what is requested.',
  not_rollback_target:
    'svc apps static releases list --app <app> shows which releases were active and are kept.',
  nothing_active: 'Deploy first: svc apps static deploy --app <app>.',
  already_attached: 'svc apps domains list --app <app> shows it; svc apps domains verify goes on with it.',
  host_active_elsewhere:
    'Remove the host from the app that has it, or publish the TXT record and verify again.',
  already_uploaded: 'Ask for a new address: svc apps sign-icon-upload.',
  unique_violation: 'Choose another name.',
  raw_db_unavailable: "Ask the operator; the server's log says what to prepare.",
  consent_required: "Ask the app's owner for it: svc apps inspection-consent set --app <app> --granted.",
  last_admin: 'Make somebody else tenant_admin first: svc members set.',
  limit_reached: 'Remove what is no longer needed.',
  idempotency_in_progress: 'Wait a moment, then look whether it has been done.',
  plan_stale: 'Preview again, and execute with the new --plan.',
  precondition_failed: 'Read it again, then repeat the change.',
  payload_too_large: 'Send less at a time.',
  uri_too_long: 'Ask with fewer or shorter conditions.',
  unsupported_media_type: 'Check that svc and the server are of the same version.',
  range_not_satisfiable: 'Ask for less, or for the whole object.',
  idempotency_mismatch: 'Run the command anew.',
  invalid_path: 'Rename the file, or leave it out of the folder.',
  path_collision: 'Rename one of the two files.',
  digest_mismatch: 'Deploy again; a file changed while it was being uploaded.',
  host_reserved: 'Choose a host of a domain that is yours.',
  resource_tier_exceeded: 'Choose a smaller tier; svc apps resource-presets shows what the tenant may have.',
  rate_limited: 'Wait a moment, then try again.',
  internal: 'Tell the operator the request id.',
  unavailable: 'Try again in a moment.',
  query_timeout: 'Ask for less at a time, or add an index: svc tables indexes add.',
};

/** Where a group of commands knows better; the longest words that fit count. */
const stepsOf: Readonly<Record<string, Partial<Record<ErrorCode, string>>>> = {
  apps: {
    not_found: unknownApp,
    forbidden:
      'Ask the owner of the app; svc apps co-owners list --app <app> shows who that is, to owners and admins.',
  },
  'apps suspend': { invalid_state_transition: 'An archived app does not run; there is nothing to suspend.' },
  'apps resume': {
    invalid_state_transition: 'svc apps reactivate <app> --execute takes it into use first.',
    resource_tier_exceeded:
      'Choose a smaller tier with svc apps update <app> --resource-tier, or ask a tenant admin for more.',
  },
  'apps templates': {
    not_found: 'Check the id and the tenant; svc apps templates list shows the templates.',
    forbidden: 'Ask a tenant admin; svc members list shows who they are.',
  },
  'apps templates add': {
    not_found:
      'Check the tenant and the repository, its ref and path; svc git-host installations repos shows what you reach.',
  },
  'apps purge': {
    not_found: 'It may have been purged before; svc apps list shows what there is.',
    table_busy:
      'Somebody still reads one of its tables, such as an export that began before; try again in a moment.',
  },
  rows: {
    unique_violation:
      'Give another value, or change the row that has this one; rows import takes --on-conflict.',
    not_found: 'Check the app, the table and the id; svc tables list --app <app> shows the tables.',
    forbidden: 'Ask an owner of the app: svc tables grants issue lets you in.',
  },
  'rows import': {
    validation_failed: 'Nothing was stored. Correct what is named, then run the same line again.',
    unique_violation:
      'Nothing was stored. --on-conflict and --resolution say what to do with rows that are there already.',
  },
  tables: {
    not_found: 'Check the names and the tenant (svc whoami); svc tables list --app <app> shows the tables.',
  },
  'apps storage': {
    not_found: 'Check the app and the key; svc apps storage ls --app <app> shows the keys.',
    forbidden: 'Ask an owner of the app; admins see how much is stored, and no object.',
    limit_reached: 'Delete what is no longer needed: svc apps storage rm.',
    app_not_active: 'Objects can still be read; ask an owner of the app to bring it back.',
    payload_too_large: 'Store it in parts.',
  },
  'apps bootstrap': { not_found: 'Check the template and the tenant; svc apps templates list shows them.' },
  'apps bootstrap-status': { not_found: 'Check the id and the tenant; those who started a run see it.' },
  'apps bootstrap-cancel': {
    not_found: 'Check the id and the tenant; a run is stopped by who started it.',
    invalid_state_transition: 'svc apps bootstrap-status <id> shows how it ended.',
  },
  'apps git': {
    not_found: 'Check the app and the repository; svc git-host installations repos shows what you reach.',
  },
  'apps detect': {
    not_found: 'Check owner, name, ref and path; svc git-host installations repos shows what you reach.',
  },
  deploy: { not_found: unknownApp },
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
      'svc deployments list --app <app> shows them: one that is superseded and kept can be rolled back to.',
  },
  'git-host accounts': { not_found: 'svc git-host accounts list shows the ids.' },
  'git-host complete': {
    not_found: 'Begin anew with svc apps git connect; a state counts once, and for 15 minutes.',
  },
  'apps domains': {
    not_found: 'Check the app and the id; svc apps domains list --app <app> shows the domains.',
  },
  'apps static': {
    limit_reached:
      'Finalize drafts, or give them up: svc apps static releases revoke --release-id <id> --app <app> --execute.',
  },
  'apps static releases': {
    not_found: 'Check the app and the release; svc apps static releases list --app <app> shows the releases.',
  },
  'apps static releases promote-reject': {
    self_approval:
      'To withdraw it, stage another release, or svc apps static site staging disable --app <app> --execute.',
  },
  review: {
    not_found: 'Check the id and the tenant (svc whoami); svc review history --app <app> shows the requests.',
  },
  'review reject': {
    self_review: 'To take it back: svc review withdraw <request> --execute.',
  },
  publish: {
    not_found: unknownApp,
    stale_deployment:
      'svc deployments list --app <app> shows what is live; without --deployment-id it is that.',
  },
  'tables grants issue': {
    unique_violation: 'Revoke that grant with svc tables grants revoke, then issue the new one.',
  },
  'tables indexes add': {
    unique_violation: 'Choose another name; or, where rows share a value, change them or leave out --unique.',
  },
};

/** By what the request was signed with, where the environment gave it. */
const stepsWith: Record<Credential, Partial<Record<ErrorCode, string>>> = {
  SVC_API_KEY: {
    unauthenticated:
      'SVC_API_KEY is mistyped, revoked or expired: svc pats create makes another; or unset it and run svc login.',
    forbidden:
      'The token in SVC_API_KEY may not do this, or its issuer may not; svc pats create --actions read,write makes one that may more.',
  },
  SVC_TOKEN: {
    unauthenticated: 'SVC_TOKEN is no longer valid: set a new one, or unset it and run svc login.',
  },
};

export type Credential = 'SVC_API_KEY' | 'SVC_TOKEN';

export interface Asked {
  words: string;
  credential: Credential | null;
  /** What the line names, where it does. */
  app: string | undefined;
  profile: string | undefined;
  /** As the environment has it. */
  baseUrl: string | undefined;
}

export function nextStep(
  code: ErrorCode,
  asked: Asked,
  retryAfterSeconds: number | null = null,
): string | undefined {
  if (retryAfterSeconds !== null) return `Try again in ${retryAfterSeconds} s.`;
  const step = code === 'not_found' ? lookFor(asked) : stepOf(code, asked);
  return step === undefined ? undefined : filledIn(step, asked);
}

function stepOf(code: ErrorCode, { words, credential }: Asked): string | undefined {
  const signed = credential === null ? undefined : stepsWith[credential][code];
  return signed ?? ofWords(words, code) ?? steps[code];
}

/** Lists of a tenant, which tell nobody who names the wrong one what there is. */
const ofTenant = / (list|mine|owned|received|workspace|discover|search)$/;

/** Who is told to run what they have just run is told nothing. */
function lookFor(asked: Asked): string | undefined {
  const { words, app, baseUrl } = asked;
  // No server has its addresses below a path.
  if (baseUrl !== undefined && (URL.parse(baseUrl)?.pathname ?? '/') !== '/')
    return `Check SVC_BASE_URL: a server has no path, and it is ${baseUrl}.`;
  if (app === undefined && ofTenant.test(words)) return unknownTenant;
  const step = stepOf('not_found', asked);
  return step?.includes(`svc ${words} `)
    ? 'Check the app and the tenant; svc apps list and svc tenants list show yours.'
    : step;
}

/** With what the line named in the place of what stands for it. */
function filledIn(step: string, { words, app, profile }: Asked): string {
  return step
    .replaceAll('<command>', words)
    .replaceAll('svc login', loginLine(profile))
    .replaceAll('<app>', (place) => (app === undefined ? place : quote(plain(app))));
}

function ofWords(words: string, code: ErrorCode): string | undefined {
  const parts = words.split(' ');
  for (let length = parts.length; length > 0; length -= 1) {
    const step = stepsOf[parts.slice(0, length).join(' ')]?.[code];
    if (step !== undefined) return step;
  }
  return undefined;
}

/** As whom a command asks, by the same rule that its session goes by. */
export function credentialOf(
  env: Readonly<Record<string, string | undefined>>,
  words: string,
): Credential | null {
  if (env.SVC_TOKEN) return 'SVC_TOKEN';
  return env.SVC_API_KEY && words.startsWith('rows ') ? 'SVC_API_KEY' : null;
}
