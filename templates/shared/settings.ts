/** Where this app lives. None of it is secret. */
export const settings = {
  baseUrl: "{{base_url}}",
  tenant: "{{tenant}}",
  app: "{{slug}}",
  name: "{{name}}",
  appId: "{{app_id}}",
};
