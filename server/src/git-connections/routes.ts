import * as connectionShapes from '@svc/contract/git-connections.shapes.ts';
import * as connections from '@svc/contract/git-connections.ts';
import * as hostShapes from '@svc/contract/git-host.shapes.ts';
import * as host from '@svc/contract/git-host.ts';
import type { DeviceGrant } from '../drivers/git-host/git-host.ts';
import { type Route, route } from '../plumbing/route.ts';
import { beginGitConnection } from './begin-git-connection.ts';
import { completeGitConnection, prepareCompletion } from './complete-git-connection.ts';
import { connectGit } from './connect-git.ts';
import { disconnectGit } from './disconnect-git.ts';
import { getGitStatus } from './get-git-status.ts';
import type { GitParts } from './git-parts.ts';
import { listGitAccounts } from './list-git-accounts.ts';
import { listGitInstallations, listGitRepositories } from './list-git-installations.ts';
import { type Polled, pollDeviceCode, pollGitLink } from './poll-git-link.ts';
import { type PreparedConnection, prepareConnection } from './prepare-connection.ts';
import { askForDeviceCode, startGitLink } from './start-git-link.ts';
import { unlinkGitAccount } from './unlink-git-account.ts';
import { updateGit } from './update-git.ts';

export const gitConnectionRoutes = (parts: GitParts): Route[] => [
  route(host.listGitAccounts, hostShapes.listGitAccounts, (ctx, { query }) => listGitAccounts(ctx, query)),
  route(host.unlinkGitAccount, hostShapes.unlinkGitAccount, (ctx, { params }) =>
    unlinkGitAccount(ctx, { id: params.account }, parts),
  ),
  route(
    host.startGitLink,
    hostShapes.startGitLink,
    (ctx, _input, asked: DeviceGrant | null) => startGitLink(ctx, parts, asked),
    { prepare: (_ctx, _input, run) => askForDeviceCode(parts, run) },
  ),
  route(
    host.pollGitLink,
    hostShapes.pollGitLink,
    (ctx, _input, polled: Polled) => pollGitLink(ctx, parts, polled),
    {
      prepare: (ctx, { body }, { mode }) => pollDeviceCode(parts, ctx, { text: body.device_code, mode }),
    },
  ),
  route(host.listGitInstallations, hostShapes.listGitInstallations, (ctx, { query }) =>
    listGitInstallations(ctx, query, parts),
  ),
  route(host.listGitRepositories, hostShapes.listGitRepositories, (ctx, { params, query }) =>
    listGitRepositories(ctx, { installation: params.installation, ...query }, parts),
  ),
  route(
    host.completeGitConnection,
    hostShapes.completeGitConnection,
    (ctx, { body }, prepared: PreparedConnection) => completeGitConnection(ctx, body, prepared),
    { prepare: (ctx, { body }) => prepareCompletion(parts, ctx, body) },
  ),
  route(connections.getGitConnection, connectionShapes.getGitConnection, (ctx) => getGitStatus(ctx)),
  route(
    connections.connectGit,
    connectionShapes.connectGit,
    (ctx, _input, prepared: PreparedConnection) => connectGit(ctx, prepared),
    {
      prepare: (ctx, { body }) =>
        prepareConnection(
          parts,
          { tenantId: ctx.tenant.id, userId: ctx.caller.userId },
          { ...body, installationId: body.installation_id },
        ),
    },
  ),
  route(connections.beginGitConnection, connectionShapes.beginGitConnection, (ctx, { body }) =>
    beginGitConnection(ctx, body, parts),
  ),
  route(connections.updateGit, connectionShapes.updateGit, (ctx, { body }) => updateGit(ctx, body)),
  route(connections.disconnectGit, connectionShapes.disconnectGit, (ctx) => disconnectGit(ctx)),
];
