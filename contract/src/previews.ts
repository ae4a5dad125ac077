import { act, deployers, deployersOrAdmin, read, remove } from './endpoint.ts';
import type * as shapes from './previews.shapes.ts';

export const previewsMax = 10;
export const previewTtlPattern = /^[1-9]\d{0,3}(?:h|d)$/;
export const previewTtlHours = { min: 1, max: 30 * 24, default: 7 * 24 } as const;
/** Unless svc.yaml says another time. */
export const previewSleepMinutes = 15;
export const seedBytesMax = 5 * 1024 * 1024;
export const seedRowsMax = 10_000;
export const branchPatternsMax = 50;
export const branchPatternPattern = /^!?[A-Za-z0-9._/+=@%#,*-]{1,100}$/;

const app = '/api/v1/tenants/{tenantID}/apps/{app}';
const collection = `${app}/previews`;
const one = `${collection}/{preview}`;

export const listPreviews = read<typeof shapes.listPreviews>()({
  id: 'previews.list',
  path: collection,
  summary: 'List the previews of branches, newest push first',
  ...deployersOrAdmin,
});

export const getPreview = read<typeof shapes.getPreview>()({
  id: 'previews.get',
  path: one,
  summary: 'Get the preview of a branch',
  ...deployersOrAdmin,
});

export const redeployPreview = act<typeof shapes.redeployPreview>()({
  id: 'previews.redeploy',
  path: `${one}/redeploy`,
  summary: 'Build and deploy the newest commit of the branch again, with the current variables',
  ...deployers,
  errors: ['app_not_active', 'app_suspended', 'no_source'],
});

export const deletePreview = remove<typeof shapes.deletePreview>()({
  id: 'previews.delete',
  path: one,
  summary: 'Remove the preview of a branch with its rows and files',
  ...deployers,
  irreversible: true,
});

/**
 * A preview is an app of its own, and its id stands for it in these operations only. Its people, name, visibility, domains and
 * variables are those of its app and are changed there.
 */
export const previewOperations: ReadonlySet<string> = new Set([
  'apps.get',
  'apps.instances',
  'apps.logs',
  'apps.metrics',
  'apps.restart',
  'columns.add',
  'columns.drop',
  'columns.update',
  'deployments.cancel',
  'deployments.get',
  'deployments.list',
  'deployments.logs',
  'indexes.add',
  'indexes.drop',
  'indexes.list',
  'storage.copy',
  'storage.delete',
  'storage.getUrl',
  'storage.list',
  'storage.signUpload',
  'storage.status',
  'tables.create',
  'tables.drop',
  'tables.getAccess',
  'tables.setAccess',
  'tables.get',
  'tables.list',
  'tables.update',
]);

/** `*` stands for any characters but `/`, `**` for any; a pattern with `!` excludes. */
export function matchesBranch(patterns: true | readonly string[], branch: string): boolean {
  if (patterns === true) return true;
  const [excluded, included] = [true, false].map((isExclusion) =>
    patterns.filter((pattern) => pattern.startsWith('!') === isExclusion),
  );
  if (excluded?.some((pattern) => matchesBranchPattern(pattern.slice(1), branch))) return false;
  return included?.length === 0 || !!included?.some((pattern) => matchesBranchPattern(pattern, branch));
}

/** Matches by position: a hostile pattern could make the time of a regular expression exponential. */
function matchesBranchPattern(pattern: string, text: string): boolean {
  const tokens = pattern.match(/\*\*|./g) ?? [];
  let ends = new Set([0]);
  for (const token of tokens) {
    const next = new Set<number>();
    for (const at of ends) {
      if (token !== '*' && token !== '**') {
        if (text[at] === token) next.add(at + 1);
        continue;
      }
      for (let end = at; end <= text.length && !next.has(end); end++) {
        next.add(end);
        if (token === '*' && text[end] === '/') break;
      }
    }
    ends = next;
  }
  return ends.has(text.length);
}
