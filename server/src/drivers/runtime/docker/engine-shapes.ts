/** Of the engine's answers, what is used here. */
export interface ContainerSummary {
  Id: string;
  State: string;
  Labels: Record<string, string>;
}

export interface ContainerDetail {
  Id: string;
  RestartCount: number;
  State: {
    Running: boolean;
    Restarting: boolean;
    OOMKilled: boolean;
    ExitCode: number;
    Error: string;
    FinishedAt: string;
  };
  Config: { Labels: Record<string, string> };
  HostConfig: { ExtraHosts: string[] | null };
}

export interface ServiceSummary {
  ID: string;
  Spec: { Name: string; Labels: Record<string, string> };
}

export interface TaskSummary {
  CreatedAt: string;
  DesiredState: string;
  Status: { State: string; Err?: string };
}

export interface EngineInfo {
  ID: string;
  ServerVersion: string;
  CgroupVersion?: string;
  MemoryLimit: boolean;
  PidsLimit: boolean;
  OSType: string;
  Swarm: {
    LocalNodeState: string;
    ControlAvailable: boolean;
    NodeID: string;
    Cluster?: { ID: string } | null;
  };
}
