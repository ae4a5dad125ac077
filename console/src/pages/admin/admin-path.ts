import { type AdminTab, consolePaths } from '@svc/contract/console-paths.ts';

/** The list of a tab; with `part` one of its things, or `new`. */
export function adminPath(tenant: string, tab: AdminTab, part?: string): string {
  const list = consolePaths.admin(tenant, tab);
  return part === undefined ? list : `${list}/${encodeURIComponent(part)}`;
}
