import type { AdminTab } from '@svc/contract/console-paths.ts';
import type { Endpoint, Shape } from '@svc/contract/endpoint.ts';
import { useLocation } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { type Change, type ChangeOptions, useChange } from '../../change/use-change.ts';
import { adminPath } from './admin-path.ts';

/** A change that leads back to the list of its tab when it is done. */
export function useFormChange<S extends Shape>(
  endpoint: Endpoint<S>,
  tab: AdminTab,
  options: ChangeOptions<S>,
): Change<S> {
  const tenant = useTenant();
  const [, go] = useLocation();
  return useChange(endpoint, { ...options, onDone: () => go(adminPath(tenant.slug, tab)) });
}
