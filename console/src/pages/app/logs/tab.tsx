import { readAppLog } from '@svc/contract/deployments.ts';
import { Empty } from '../../../parts/empty.tsx';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { useApp } from '../use-app.ts';
import { AppLog } from './app-log.tsx';

/** What the running app writes, as it writes it. */
export default function LogsTab() {
  const { app, why } = useApp();
  if (app.deploy_method === 'static')
    return (
      <Empty title="Files write no log">
        This app is made of files, which the platform serves; nothing of it runs. Who asked for them, and how
        often, stands under Metrics.
      </Empty>
    );
  return (
    <OnlyFor why={why(readAppLog)} what="the log">
      <AppLog />
    </OnlyFor>
  );
}
