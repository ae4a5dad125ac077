import { consolePaths } from '@svc/contract/console-paths.ts';
import { LinkTo } from '../../../parts/link-to.tsx';
import { useApp } from '../use-app.ts';
import { type ReleaseView, releaseName } from './release-view.ts';

export function ReleaseLink({ release }: { release: ReleaseView }) {
  const { app, tenant } = useApp();
  return (
    <LinkTo to={consolePaths.release(tenant.slug, app.slug, release.id)} fw={600}>
      {releaseName(release)}
    </LinkTo>
  );
}
