import { expect } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import {
  betterStack,
  corpus,
  earlierBetterStack,
  fromPackage,
  scaffold,
  submitName,
  waitForText,
  withFiles,
} from './support/corpus.ts';

const usersRoute = `var express = require('express');
var router = express.Router();

router.get('/', function(req, res, next) {
  res.send('respond with a resource');
});
router.get('/form', function(req, res, next) {
  res.send('<form method="post" action="/users"><input name="name" value="Ada"><button>Send</button></form>');
});
router.post('/', function(req, res, next) {
  res.send('Hello ' + req.body.name);
});

module.exports = router;
`;

const form =
  '<form method="post" action="/form"><label>Name <input name="name"></label><button>Send</button></form>';

const nestMain = `import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';

const app = await NestFactory.create<NestExpressApplication>(AppModule);
app.useStaticAssets('public');
await app.listen(process.env.PORT ?? 3000);
`;

const nestController = `import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { AppService } from './app.service.js';

@Controller()
export class AppController {
  constructor(private readonly appService: AppService) {}

  @Get()
  getHello(): string {
    return '<link rel="stylesheet" href="/style.css"><p>' + this.appService.getHello() + '</p>';
  }

  @Get('cats/:id')
  getCat(@Param('id') id: string): string {
    return 'Cat ' + id;
  }

  @Get('form')
  getForm(): string {
    return '${form}';
  }

  @Post('form')
  greet(@Body() body: { name: string }): string {
    return 'Hello ' + body.name;
  }
}
`;

const honoRoutes = `
app.get('/cats/:id', (c) => c.text('Cat ' + c.req.param('id')));
app.get('/form', (c) => c.html('${form}'));
app.post('/form', async (c) => c.text('Hello ' + (await c.req.parseBody()).name));
`;

async function hono(folder: string): Promise<void> {
  await betterStack('--frontend none --backend hono --runtime node --api none', earlierBetterStack)(folder);
  const edit = (name: string, change: (text: string) => string) => {
    const path = join(folder, name);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  };
  edit('apps/server/src/index.ts', (text) => text.replace(/^import { serve }/m, `${honoRoutes}$&`));
  // Its value is in a file .env, which is not deployed.
  edit('packages/env/src/server.ts', (text) =>
    text.replace('CORS_ORIGIN: z.url()', "$&.default('http://localhost:3001')"),
  );
}

corpus('a server', [
  {
    name: 'Hono by create-better-t-stack, with a hard-coded port',
    source: hono,
    home: 'OK',
    deep: ['/cats/7', 'Cat 7'],
    hasAssets: false,
    check: ({ page, url }) => submitName(page, `${url}/form`),
  },
  {
    name: 'express-generator',
    source: withFiles(scaffold('--package=express-generator@4 express --view=pug'), {
      'routes/users.js': usersRoute,
    }),
    home: 'Welcome to Express',
    deep: ['/users', 'respond with a resource'],
    async check({ page, url }) {
      await page.goto(`${url}/users/form`);
      await page.getByRole('button').click();
      await waitForText(page, 'Hello Ada');
      expect((await page.goto(`${url}/stylesheets/style.css`))?.headers()['content-type']).toMatch(
        /^text\/css/,
      );
    },
  },
  {
    name: 'nest new',
    source: withFiles(scaffold('@nestjs/cli@12 new', '--skip-git --skip-install --package-manager npm'), {
      'src/main.ts': nestMain,
      'src/app.controller.ts': nestController,
      'public/style.css': 'p { color: crimson }\n',
    }),
    home: 'Hello World!',
    deep: ['/cats/7', 'Cat 7'],
    check: ({ page, url }) => submitName(page, `${url}/form`),
  },
  {
    name: 'fastify generate',
    source: scaffold('--package=fastify-cli@8 fastify generate', '--lang=js'),
    home: '{"root":true}',
    deep: ['/example', 'this is an example'],
    hasAssets: false,
  },
  {
    name: 'socket.io by rtcmulticonnection-server',
    source: fromPackage('rtcmulticonnection-server@1.3.3'),
    home: 'RTCMultiConnection Socket.io Server',
    deep: ['/any/path', 'RTCMultiConnection Socket.io Server'],
    hasAssets: false,
    async check({ page, url }) {
      const other = await page.context().newPage();
      for (const each of [page, other]) await joinRoom(each, url);
      await page.evaluate(() => Reflect.get(window, 'socket').emit('custom-message', 'Good morning'));
      await waitForText(other, 'Good morning over websocket');
      await other.close();
    },
  },
  {
    name: 'server-sent events by sse-pubsub',
    source: fromPackage('sse-pubsub@1.4.5'),
    home: 'SSE pubsub for nodeJS',
    deep: ['/index.html', 'Channel 1'],
    async check({ page }) {
      for (const channel of ['ch1', 'ch2'])
        await page.locator(`[data-channel=${channel}] div:nth-child(3)`).waitFor();
    },
  },
]);

/** A page that shows what others send, with the client that the server itself serves. */
async function joinRoom(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.addScriptTag({ url: '/socket.io/socket.io.js' });
  await page.evaluate(async () => {
    const socket = Reflect.get(window, 'io')('/', { query: { userid: Math.random() } });
    Object.assign(window, { socket });
    socket.on('custom-message', (text: string) => {
      document.body.textContent = `${text} over ${socket.io.engine.transport.name}`;
    });
    await new Promise((resolve) => socket.on('connect', resolve));
    if (socket.io.engine.transport.name !== 'websocket')
      await new Promise((resolve) => socket.io.engine.once('upgrade', resolve));
  });
}
