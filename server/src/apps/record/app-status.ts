/** Columns of an app that other slices read and write. */
export {
  approveDataScopes,
  assignRuntimeNumber,
  findDataScopes,
  findInvitedMax,
  findOrigin,
  listIconIdsInUse,
  markDeployed,
  markResumed,
  markReviewed,
  markUndeployed,
  nextDeploymentSeq,
  recordOrigin,
  resetReviewStatus,
  setAppIcon,
  setLiveDeployment,
  widenApp,
} from './status-store.ts';
