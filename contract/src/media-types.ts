const text = (type: string) => `${type}; charset=utf-8`;
const script = text('text/javascript');

const byExtension: Readonly<Record<string, string>> = {
  html: text('text/html'),
  htm: text('text/html'),
  xhtml: text('application/xhtml+xml'),
  css: text('text/css'),
  js: script,
  mjs: script,
  cjs: script,
  json: 'application/json',
  map: 'application/json',
  jsonld: 'application/ld+json',
  geojson: 'application/geo+json',
  webmanifest: 'application/manifest+json',
  wasm: 'application/wasm',
  xml: text('application/xml'),
  rss: text('application/rss+xml'),
  atom: text('application/atom+xml'),
  xsl: text('application/xslt+xml'),
  txt: text('text/plain'),
  md: text('text/markdown'),
  csv: text('text/csv'),
  tsv: text('text/tab-separated-values'),
  ics: text('text/calendar'),
  vcf: text('text/vcard'),
  vtt: text('text/vtt'),
  yaml: text('application/yaml'),
  yml: text('application/yaml'),
  svg: text('image/svg+xml'),
  png: 'image/png',
  apng: 'image/apng',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  jxl: 'image/jxl',
  bmp: 'image/bmp',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  heic: 'image/heic',
  ico: 'image/vnd.microsoft.icon',
  woff2: 'font/woff2',
  woff: 'font/woff',
  ttf: 'font/ttf',
  otf: 'font/otf',
  eot: 'application/vnd.ms-fontobject',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  webm: 'video/webm',
  ogv: 'video/ogg',
  mov: 'video/quicktime',
  m3u8: 'application/vnd.apple.mpegurl',
  mpd: 'application/dash+xml',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  wav: 'audio/wav',
  weba: 'audio/webm',
  glb: 'model/gltf-binary',
  gltf: 'model/gltf+json',
  pdf: 'application/pdf',
  zip: 'application/zip',
  gz: 'application/gzip',
  tar: 'application/x-tar',
  epub: 'application/epub+zip',
};

const byName: Readonly<Record<string, string>> = {
  'apple-app-site-association': 'application/json',
};

export function mediaType(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const extension = fileExtension(path);
  if (Object.hasOwn(byExtension, extension)) return byExtension[extension] ?? '';
  return (Object.hasOwn(byName, name) && byName[name]) || 'application/octet-stream';
}

export function fileExtension(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const at = name.lastIndexOf('.');
  return at < 1 ? '' : name.slice(at + 1).toLowerCase();
}

export function bareMediaType(path: string): string {
  return mediaType(path).split(';', 1)[0] ?? '';
}
