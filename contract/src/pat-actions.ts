/** What a personal access token can do. Each action is granted by itself; none includes another. */
export const patActions = ['read', 'write', 'code', 'deploy'] as const;
export type PatAction = (typeof patActions)[number];

const sentences: Record<PatAction, string> = {
  read: 'Read rows of tables, and send GET requests to running apps.',
  write: 'Insert, update and delete rows, and send other requests to running apps.',
  code: 'Clone git repositories and push to them. A push to the connected branch deploys the app.',
  deploy:
    'Deploy apps and sites, run commands in apps, read build logs, and cancel and roll back deployments.',
};

export function describePatAction(action: PatAction): string {
  return sentences[action];
}
