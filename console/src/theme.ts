import { type CSSVariablesResolver, createTheme, Modal, Textarea } from '@mantine/core';

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace',
  respectReducedMotion: true,
  components: {
    // The header of a modal would count as a second banner landmark.
    Modal: Modal.extend({
      defaultProps: {
        attributes: { header: { role: 'presentation' } },
        closeButtonProps: { 'aria-label': 'Close' },
      },
    }),
    Textarea: Textarea.extend({ defaultProps: { autosize: true, minRows: 2 } }),
  },
});

/** Mantine's dimmed text and light badges miss a contrast of 4.5:1 on some backgrounds. */
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
