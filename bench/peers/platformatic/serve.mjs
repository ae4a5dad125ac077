// Platformatic DB as its own `create` starts it, in one process, without logging, GraphQL, events and file
// watching.
import { create } from '@platformatic/db';

const [connectionString, port] = process.argv.slice(2);
const server = { hostname: '127.0.0.1', port: Number(port), logger: { level: 'silent' } };
const app = await create(
  import.meta.dirname,
  {
    server,
    db: {
      connectionString,
      graphql: false,
      openapi: true,
      events: false,
      autoTimestamp: false,
      poolSize: 10,
    },
    watch: false,
  },
  { isEntrypoint: true, isProduction: true, serverConfig: server },
);
await app.start({ listen: true });
console.log('ready');
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
