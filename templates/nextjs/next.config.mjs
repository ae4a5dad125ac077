/** @type {import('next').NextConfig} */
export default {
  poweredByHeader: false,
  // This folder and nothing above it, wherever it is built.
  turbopack: { root: import.meta.dirname },
  outputFileTracingRoot: import.meta.dirname,
};
