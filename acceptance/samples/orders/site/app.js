import { createClient, createSignIn } from '/.svc/sdk.js';

const settings = JSON.parse(document.getElementById('settings').textContent);
const { baseUrl, appId } = settings;
const signIn = createSignIn({ baseUrl, appId, redirectUri: `${location.origin}/` });
const orders = createClient({ ...settings, auth: signIn })
  .connector('warehouse')
  .table('sales/orders');

const table = document.querySelector('table');
const status = document.getElementById('status');
const request = document.getElementById('request');

await signIn.handleRedirect();
if (signIn.getUser()) await follow();
else await signIn.signIn();

/** A grant that begins or ends shows while the page stays open. */
async function follow() {
  await show();
  setTimeout(() => void follow(), 400);
}

async function show() {
  try {
    const { data } = await orders.sort('id').list();
    const names = Object.keys(data[0] ?? {});
    table.tHead.replaceChildren(row('th', names));
    table.tBodies[0].replaceChildren(...data.map((order) => row('td', Object.values(order))));
    status.textContent = `${data.length} orders for ${signIn.getUser().email}`;
    table.hidden = false;
    request.hidden = true;
  } catch (error) {
    table.tBodies[0].replaceChildren();
    table.hidden = true;
    status.textContent = `No orders: ${error.code}`;
    request.hidden = !error.requestUrl;
    if (error.requestUrl) request.href = error.requestUrl;
  }
}

function row(kind, values) {
  const line = document.createElement('tr');
  line.append(
    ...values.map((value) => Object.assign(document.createElement(kind), { textContent: value ?? '' })),
  );
  return line;
}
