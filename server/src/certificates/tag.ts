/** Changes whenever a certificate was issued. One that goes with its domain is told by the domain's own tag. */
export const certificatesTag = 'certificates';
/** Names the key that certificates' keys are sealed with. */
export const sealingKeyName = 'certificates.sealing_key';
