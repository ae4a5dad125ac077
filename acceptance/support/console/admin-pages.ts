import type { Governed } from './fill-admin.ts';
import type { ConsolePage } from './pages.ts';

/** What opens from the lists of tenant admins, and what those see who are none. */
export function adminPages(
  t: string,
  { category, connector, preset, policy, grant, subject }: Governed & { subject: string },
): ConsolePage[] {
  const admins = (name: string, path: string): ConsolePage => ({ name, path: `${t}/${path}`, as: 'admin' });
  return [
    admins('admin-members-new', 'admin/members/new'),
    admins('admin-categories-new', 'admin/categories/new'),
    admins('admin-category', `admin/categories/${category}`),
    admins('admin-connectors-new', 'admin/connectors/new'),
    admins('admin-connector', `admin/connectors/${connector}`),
    admins('admin-presets-new', 'admin/presets/new'),
    admins('admin-preset', `admin/presets/${preset}`),
    admins('admin-grants-new', 'admin/grants/new'),
    admins('admin-grant', `admin/grants/${grant}`),
    admins('admin-policies-new', 'admin/policies/new'),
    admins('admin-policy', `admin/policies/${policy}`),
    admins(
      'admin-access-check',
      `admin/policies?subject=${subject}&connector=${connector}&action=read&path=sales/customers`,
    ),
    admins('admin-audit-entry', 'admin/audit?action=policies.create'),
    admins('tokens-of-everyone', 'tokens?whose=everyone'),
    { name: 'admin-seen-by-a-member', path: `${t}/admin/grants`, as: 'member' },
    { name: 'grants-none', path: `${t}/grants`, as: 'member' },
    { name: 'tokens-new', path: `${t}/tokens?new=1`, as: 'owner' },
    { name: 'tokens-none', path: `${t}/tokens`, as: 'member' },
  ];
}
