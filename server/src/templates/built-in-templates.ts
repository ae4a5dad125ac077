import type { Template } from '@svc/contract/templates.shapes.ts';
import type { z } from 'zod';

/** They come with the release, not with the database. Their ids never change: runs and apps refer to them. */
export const builtInTemplates: readonly (z.output<typeof Template> & { alias: string })[] = [
  {
    id: '019a8000-0000-7000-8000-000000000003',
    alias: 'astro',
    name: 'Astro site',
    description: 'A static site with a page that signs in and reads a table',
    framework: 'astro',
    deploy_method: 'static',
    built_in: true,
    repo: null,
    ref: null,
  },
  {
    id: '019a8000-0000-7000-8000-000000000002',
    alias: 'nextjs',
    name: 'Next.js app',
    description: 'Pages rendered on the server, with sign-in and a table',
    framework: 'nextjs',
    deploy_method: 'docker',
    built_in: true,
    repo: null,
    ref: null,
  },
  {
    id: '019a8000-0000-7000-8000-000000000001',
    alias: 'react',
    name: 'React app',
    description: 'A page with sign-in and a table, built with Vite',
    framework: 'react',
    deploy_method: 'static',
    built_in: true,
    repo: null,
    ref: null,
  },
];
