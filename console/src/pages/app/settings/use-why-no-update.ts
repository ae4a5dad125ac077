import { updateApp } from '@svc/contract/apps.ts';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';

/** Why what is said of the app can not be changed; null when it can. */
export function useWhyNoUpdate(): string | null {
  const { app, why } = useApp();
  return whyNotActive(app) ?? why(updateApp);
}
