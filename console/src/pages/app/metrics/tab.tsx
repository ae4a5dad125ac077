import { getAppMetrics } from '@svc/contract/app-metrics.ts';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { useApp } from '../use-app.ts';
import { MetricsView } from './metrics-view.tsx';

/** What the app was asked, how long it took, what it used. */
export default function MetricsTab() {
  const { why } = useApp();
  return (
    <OnlyFor why={why(getAppMetrics)} what="the metrics">
      <MetricsView />
    </OnlyFor>
  );
}
