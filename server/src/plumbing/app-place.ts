/** Which app's something is. With its tenant: no row is read by an app's id alone. */
export interface AppPlace {
  tenantId: string;
  appId: string;
}
