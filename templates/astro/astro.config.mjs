import { defineConfig } from 'astro/config';

export default defineConfig({ site: "{{app_url}}" });
