import { listEnv } from '@svc/contract/deployments.ts';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { useApp } from '../use-app.ts';
import { EnvView } from './env-view.tsx';

/** What the app runs with. */
export default function EnvironmentTab() {
  const { why } = useApp();
  return (
    <OnlyFor why={why(listEnv)} what="the environment">
      <EnvView />
    </OnlyFor>
  );
}
