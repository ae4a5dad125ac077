import { gitSocketVariable, gitUmask, serveGitHelper } from './drivers/git/git-launcher.ts';

// Started by the supervisor of root when git is needed, as the user of git, and starts git for the server, which has another user.
process.umask(gitUmask);
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

async function start(): Promise<void> {
  const helper = await serveGitHelper(process.env[gitSocketVariable] ?? '');
  for (const event of ['SIGTERM', 'disconnect'])
    process.on(event, () => {
      helper.close();
      process.exit(0);
    });
  process.send?.({ ready: true });
}

start().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
