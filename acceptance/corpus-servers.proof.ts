import { expect } from 'bun:test';
import { corpus, greets, json, scaffold, showsText } from './support/corpus.ts';
import { type Files, writeFiles } from './support/server.ts';

const hono: Files = {
  'package.json': json({
    name: 'hono-app',
    type: 'module',
    scripts: { dev: 'tsx watch src/index.ts', build: 'tsc', start: 'node dist/index.js' },
    dependencies: { '@hono/node-server': '^2.1.0', hono: '^4.13.0' },
    devDependencies: { '@types/node': '^24.0.0', tsx: '^4.23.0', typescript: '^5.9.0' },
  }),
  'tsconfig.json': json({
    compilerOptions: {
      target: 'ESNext',
      module: 'NodeNext',
      strict: true,
      skipLibCheck: true,
      types: ['node'],
      outDir: './dist',
    },
    exclude: ['node_modules'],
  }),
  '.gitignore': 'dist/\nnode_modules/\n',
  // The template of create-hono listens there, whatever PORT is.
  'src/index.ts': `import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const app = new Hono();
app.get('/', (c) =>
  c.html('<form method="post"><label>Name <input name="name"></label><button>Send</button></form>'),
);
app.post('/', async (c) => c.text('Hello ' + (await c.req.parseBody()).name));
app.get('/items/:id', (c) => c.text('Item ' + c.req.param('id')));
serve({ fetch: app.fetch, port: 3000 }, (info) => {
  console.log('Server is running on http://localhost:' + info.port);
});
`,
};

const socketIo: Files = {
  'package.json': json({
    name: 'chat',
    main: 'index.js',
    dependencies: { express: '^5.0.0', 'socket.io': '^4.8.0' },
  }),
  'index.html': `<!doctype html>
<ul id="messages"></ul>
<form><label>Message <input autocomplete="off"></label><button>Send</button></form>
<h1>Chat</h1>
<p id="transport"></p>
<script src="/socket.io/socket.io.js"></script>
<script>
  const socket = io();
  socket.io.engine.on('upgrade', ({ name }) => { document.querySelector('#transport').textContent = 'over ' + name });
  document.querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    socket.emit('chat message', document.querySelector('input').value);
  });
  socket.on('chat message', (text) => {
    const item = document.createElement('li');
    item.textContent = text;
    document.querySelector('#messages').append(item);
  });
</script>
`,
  'index.js': `const express = require('express');
const { createServer } = require('node:http');
const { join } = require('node:path');
const { Server } = require('socket.io');

const app = express();
const server = createServer(app);
const io = new Server(server);
app.get('/', (request, response) => response.sendFile(join(__dirname, 'index.html')));
app.get('/rooms/:id', (request, response) => response.send('Room ' + request.params.id));
io.on('connection', (socket) => socket.on('chat message', (text) => io.emit('chat message', text)));
server.listen(process.env.PORT || 3000);
`,
};

const events: Files = {
  'package.json': json({ name: 'events', scripts: { start: 'node server.mjs' } }),
  'server.mjs': `import { createServer } from 'node:http';

const page = \`<h1>Events</h1><ol></ol><script>
new EventSource('/events').onmessage = ({ data }) => {
  document.querySelector('ol').append(Object.assign(document.createElement('li'), { textContent: data }));
};
</script>\`;
createServer((request, response) => {
  if (request.url !== '/events') return response.setHeader('content-type', 'text/html').end(page);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let count = 0;
  const timer = setInterval(() => response.write('data: event ' + ++count + '\\n\\n'), 300);
  request.on('close', () => clearInterval(timer));
}).listen(process.env.PORT || 8080);
`,
};

corpus('a server', [
  {
    name: 'Hono, which listens on port 3000 whatever PORT is',
    source: hono,
    home: 'Name',
    deep: ['/items/7', 'Item 7'],
    hasAssets: false,
    check: ({ page, url }) => greets(page, url),
  },
  {
    name: 'express-generator',
    async source(folder) {
      await scaffold('--package=express-generator@4 express --view=pug')(folder);
      writeFiles(folder, { 'routes/users.js': usersRoute });
    },
    home: 'Welcome to Express',
    deep: ['/users', 'respond with a resource'],
    async check({ page, url }) {
      await page.goto(`${url}/users/form`);
      await page.getByRole('button').click();
      await showsText(page, 'Hello Ada');
      expect((await page.goto(`${url}/stylesheets/style.css`))?.headers()['content-type']).toMatch(
        /^text\/css/,
      );
    },
  },
  {
    name: 'nest new',
    source: scaffold('@nestjs/cli@12 new', '--skip-git --skip-install --package-manager npm'),
    home: 'Hello World!',
    deep: ['/?from=mail', 'Hello World!'],
    hasAssets: false,
  },
  {
    name: 'fastify generate',
    source: scaffold('--package=fastify-cli@8 fastify generate', '--lang=js'),
    home: '{"root":true}',
    deep: ['/example', 'this is an example'],
    hasAssets: false,
  },
  {
    name: 'socket.io',
    source: socketIo,
    home: 'Chat',
    deep: ['/rooms/7', 'Room 7'],
    async check({ page, url }) {
      await page.goto(url);
      await showsText(page, 'over websocket');
      await page.getByLabel('Message').fill('Good morning');
      await page.getByRole('button', { name: 'Send' }).click();
      await showsText(page, 'Good morning');
    },
  },
  {
    name: 'server-sent events',
    source: events,
    home: 'Events',
    deep: ['/any/path', 'event 2'],
    hasAssets: false,
    check: ({ page }) => showsText(page, 'event 3'),
  },
]);

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
