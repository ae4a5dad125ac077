import { listDeployments } from '@svc/contract/deployments.ts';
import { useParams } from 'wouter';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { useApp } from '../use-app.ts';
import { DeploymentView } from './deployment-view.tsx';
import { DeploymentsView } from './deployments-view.tsx';

/** All deployments of the app, or the one of the address. */
export default function DeploymentsTab() {
  const { why } = useApp();
  const { part } = useParams<{ part?: string }>();
  return (
    <OnlyFor why={why(listDeployments)} what="the deployments">
      {part === undefined ? <DeploymentsView /> : <DeploymentView key={part} id={part} />}
    </OnlyFor>
  );
}
