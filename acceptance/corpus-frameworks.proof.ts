import {
  betterStack,
  corpus,
  earlierBetterStack,
  scaffold,
  submitName,
  withFiles,
} from './support/corpus.ts';

const noServer = '--runtime none --backend none --api none';

const reactRouterForm = `import { Form, useActionData } from 'react-router';

export async function action({ request }: { request: Request }) {
  return { text: 'Hello ' + (await request.formData()).get('name') };
}

export default function Greeting() {
  const answer = useActionData<typeof action>();
  return (
    <Form method="post">
      <label>Name <input name="name" /></label>
      <button>Send</button>
      <p>{answer?.text}</p>
    </Form>
  );
}
`;

const astroForm = `---
const name = Astro.request.method === 'POST' ? (await Astro.request.formData()).get('name') : null;
---
<form method="post">
  <label>Name <input name="name" /></label>
  <button>Send</button>
</form>
{name && <p>Hello {name}</p>}
`;

const nuxtForm = `<template>
  <form method="post" action="/greeting">
    <label>Name <input name="name" /></label>
    <button>Send</button>
  </form>
</template>
`;

corpus('a framework that makes pages on a server', [
  {
    name: 'sv create (SvelteKit), pushed with git',
    source: scaffold('sv@0.17 create', '--template demo --types ts --no-add-ons --no-install'),
    home: 'to your new',
    deep: ['/sverdle/how-to-play', 'How to play Sverdle'],
    by: 'push',
    async check({ page, url }) {
      // The server compares the origin of a posted form with its own.
      await page.goto(`${url}/sverdle`);
      await page.waitForLoadState('networkidle');
      for (const letter of 'crane') await page.locator(`button[data-key=${letter}]`).click();
      await page.getByRole('button', { name: 'enter' }).click();
      await page
        .locator('.row:first-of-type .letter.exact, .letter.close, .letter.missing')
        .first()
        .waitFor();
    },
  },
  {
    name: 'React Router by create-better-t-stack',
    source: withFiles(betterStack(`--frontend react-router ${noServer}`), {
      'apps/web/src/routes/form.tsx': reactRouterForm,
    }),
    home: 'API Status',
    deep: ['/form', 'Name'],
    check: ({ page, url }) => submitName(page, `${url}/form`),
  },
  {
    name: 'Astro with its Node adapter by create-better-t-stack',
    source: withFiles(
      betterStack('--frontend astro --runtime none --backend self --api orpc', earlierBetterStack),
      {
        'apps/web/src/pages/form.astro': astroForm,
      },
    ),
    home: 'API Status',
    deep: ['/form', 'Name'],
    async check({ page, url }) {
      // The first page posts to its own server.
      await page.goto(url);
      await page.getByText('Connected', { exact: true }).waitFor();
      await submitName(page, `${url}/form`);
    },
  },
  {
    name: 'Nuxt by create-better-t-stack',
    source: withFiles(betterStack(`--frontend nuxt ${noServer}`, earlierBetterStack), {
      'apps/web/app/pages/form.vue': nuxtForm,
      'apps/web/server/routes/greeting.post.ts': `export default defineEventHandler(async (event) => 'Hello ' + (await readBody(event)).name);\n`,
    }),
    home: 'API Status',
    deep: ['/form', 'Name'],
    check: ({ page, url }) => submitName(page, `${url}/form`),
  },
]);
