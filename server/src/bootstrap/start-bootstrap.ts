import type { startBootstrap as shape } from '@svc/contract/bootstrap.shapes.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../plumbing/context.ts';
import { invalid } from '../plumbing/problem.ts';
import { type TemplateFacts, templateSource } from '../templates/template-source.ts';
import { askHostFirst, type HostAsked } from './ask-host-first.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import type { WantedRepo } from './run-input.ts';
import { startRun } from './start-run.ts';

type Input = z.output<typeof shape.body>;

export interface PreparedBootstrap {
  template: TemplateFacts;
  asked: HostAsked;
}

/** Before the change: whether the template is there, and what the git host says. */
export async function prepareBootstrap(
  ctx: TenantCtx,
  input: Input,
  parts: BootstrapParts,
  mode: 'preview' | 'execute',
): Promise<PreparedBootstrap> {
  const template = await templateSource(parts, { tenantId: ctx.tenant.id, template: input.template });
  return {
    template,
    asked: await askHostFirst(parts, ctx, { slug: slugOf(input), wanted: wantedRepo(input), mode }),
  };
}

/** The run goes on by itself from here, on whichever copy of the server. */
export function startBootstrap(
  ctx: TenantMutationCtx,
  input: Input,
  { template, asked }: PreparedBootstrap,
  parts: BootstrapParts,
) {
  const { subdomain } = input;
  const slug = slugOf(input);
  return startRun(
    ctx,
    {
      kind: 'bootstrap',
      input: {
        slug,
        app: {
          slug,
          name: input.name ?? slug,
          deploy_method: template.deployMethod,
          ...(subdomain === undefined ? {} : { subdomain }),
        },
        siteConfig: null,
        tables: template.tables,
        repo: wantedRepo(input),
        seed: { kind: 'template', templateId: template.id },
      },
      templateId: template.id,
      sourceAppId: null,
      from: `template ${template.name}`,
    },
    asked,
    parts,
  );
}

/** Of a fork it is told in the same way. */
export function slugOf({ slug, name }: Pick<Input, 'slug' | 'name'>): string {
  const found = slug ?? slugFromName(name ?? '');
  if (!found) throw invalid('slug', 'is missing');
  return found;
}

export function wantedRepo(
  input: Pick<Input, 'git_host_owner' | 'installation_id' | 'repo_name' | 'repo_private' | 'slug' | 'name'>,
): WantedRepo {
  return {
    owner: input.git_host_owner ?? null,
    name: input.repo_name ?? slugOf(input),
    isPrivate: input.repo_private,
    installationId: input.installation_id ?? null,
  };
}
