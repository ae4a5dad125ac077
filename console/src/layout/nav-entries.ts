import { type AdminTab, consolePaths } from '@svc/contract/console-paths.ts';
import {
  IconApps,
  IconBell,
  IconCategory,
  IconCertificate,
  IconChecklist,
  IconCompass,
  IconDeviceLaptop,
  IconFilterCog,
  IconHistory,
  IconKey,
  IconLock,
  IconPlugConnected,
  IconSettings,
  IconUserShield,
  IconUsers,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import type { OwnTenant } from '../api/me.ts';

export interface NavEntry {
  label: string;
  to: string;
  icon: ComponentType<{ size?: number | string }>;
  /** Why it can not be used; it is shown all the same. */
  why?: string;
}

export function entries({ slug, role }: OwnTenant): NavEntry[] {
  const reviews = { label: 'Reviews', to: consolePaths.reviews(slug), icon: IconChecklist };
  return [
    { label: 'Catalogue', to: consolePaths.catalogue(slug), icon: IconCompass },
    { label: 'My apps', to: consolePaths.apps(slug), icon: IconApps },
    { label: 'Notifications', to: consolePaths.notifications(slug), icon: IconBell },
    role === 'tenant_admin' ? reviews : { ...reviews, why: 'By tenant admins' },
    { label: 'My grants', to: consolePaths.grants(slug), icon: IconKey },
    { label: 'Access tokens', to: consolePaths.tokens(slug), icon: IconLock },
    { label: 'Sessions', to: consolePaths.sessions(slug), icon: IconDeviceLaptop },
  ];
}

/** For others one line stands for all of it: that there is such a thing, and whose it is. */
export function adminEntries({ slug, role }: OwnTenant): NavEntry[] {
  const to = (tab: AdminTab) => consolePaths.admin(slug, tab);
  if (role !== 'tenant_admin') {
    return [{ label: 'Administration', to: to('members'), icon: IconSettings, why: 'For tenant admins' }];
  }
  return [
    { label: 'Members', to: to('members'), icon: IconUsers },
    { label: 'Categories', to: to('categories'), icon: IconCategory },
    { label: 'Connectors', to: to('connectors'), icon: IconPlugConnected },
    { label: 'Presets', to: to('presets'), icon: IconCertificate },
    { label: 'Grants', to: to('grants'), icon: IconUserShield },
    { label: 'Access policies', to: to('policies'), icon: IconFilterCog },
    { label: 'Settings', to: to('settings'), icon: IconSettings },
    { label: 'Audit log', to: to('audit'), icon: IconHistory },
  ];
}
