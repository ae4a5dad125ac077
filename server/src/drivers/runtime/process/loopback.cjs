// Loaded into every app of Node.js before its own code. Who may reach an app is asked at the platform's door: an app that
// listens on all addresses of the machine, as `listen(port)` does, would be open to its whole network past that.
const { Server } = require('node:net');

const loopback = '127.0.0.1';
const everywhere = new Set([undefined, null, '', '0.0.0.0', '::', '[::]']);
const { listen } = Server.prototype;

Server.prototype.listen = function (...given) {
  return listen.apply(this, nearby(given));
};

/** The same, at the loopback address where none or all of them were named. */
function nearby(given) {
  const [first, second, ...rest] = given;
  if (isPort(first)) {
    if (typeof second === 'number' || typeof second === 'function')
      return [first, loopback, ...given.slice(1)];
    return everywhere.has(second) ? [first, loopback, ...rest] : given;
  }
  const isAddress = typeof first === 'object' && first !== null && isPort(first.port);
  return isAddress && everywhere.has(first.host) ? [{ ...first, host: loopback }, ...given.slice(1)] : given;
}

function isPort(value) {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
}
