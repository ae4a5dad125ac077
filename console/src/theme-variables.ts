import type { CSSVariablesResolver } from '@mantine/core';

/** Mantine's dimmed text and light badges fall short of 4.5:1 on some grounds; these do not. */
export const themeVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#596172',
    '--mantine-color-green-light-color': '#1b6e2f',
    '--mantine-color-teal-light-color': '#08644b',
    '--mantine-color-lime-light-color': '#3f6212',
    '--mantine-color-yellow-light-color': '#7a4b00',
    '--mantine-color-orange-light-color': '#963800',
  },
  dark: { '--mantine-color-dimmed': '#a6aebd' },
});
