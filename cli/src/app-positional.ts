/** For commands about an app itself. */
export const appPositional = { name: 'app', summary: 'App id or slug' } as const;
