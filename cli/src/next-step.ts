import type { ErrorCode } from '@svc/contract/error-codes.ts';

/** What a person can do about an error of the server. Codes that say it all have no entry. */
const steps: Partial<Record<ErrorCode, string>> = {
  validation_failed: 'Correct the values; svc <command> --help lists what is taken.',
  invalid_cursor: 'Start again without --cursor.',
  ambiguous_credentials: 'Unset SVC_TOKEN or SVC_API_KEY.',
  unauthenticated: 'Run svc login; if SVC_TOKEN is set, it is no longer valid.',
  login_required: 'Run svc login; a personal access token is good for the data API only.',
  forbidden: 'Ask a tenant admin, or check the tenant with svc whoami and --tenant.',
  not_found: 'Check the id and the tenant (svc whoami); the list command shows what there is.',
  policy_in_use: 'svc grants list shows the grants; revoke those that name the policy first.',
  connector_in_use: 'svc grants list --connector <id> shows the grants; revoke them first.',
  preset_in_use: 'svc grants list shows the grants; revoke those that use the preset first.',
  preset_built_in: 'Create a preset of your own with svc presets create.',
  grant_not_active: 'Create a new grant with svc grants create.',
  unique_violation: 'Choose another name.',
  last_admin: 'Make somebody else tenant_admin first: svc members set.',
  limit_reached: 'Remove what is no longer needed.',
  visibility_widen_not_allowed: 'Ask for publication with svc publish.',
  idempotency_in_progress: 'Wait a moment, then look whether it has been done.',
  plan_stale: 'Preview again, and execute with the new --plan.',
  precondition_failed: 'Read it again, then repeat the change.',
  rate_limited: 'Wait a moment, then try again.',
  internal: 'Tell the operator the request id.',
  unavailable: 'Try again in a moment.',
  query_timeout: 'Ask for less at a time.',
};

export function nextStep(code: ErrorCode, retryAfterSeconds: number | null): string | undefined {
  if (retryAfterSeconds !== null) return `Try again in ${retryAfterSeconds} s.`;
  return steps[code];
}
