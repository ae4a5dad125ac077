/** How much may be open at once: all of it together, and what any one app may take of that. */
export interface Places {
  /** Null: there is none left. */
  enter(appId: string): Place | null;
}

export interface Place {
  /** What was asked for goes on behind the head of its answer; to be called when that has ended. */
  keep(): () => void;
  /** The head is there: left, unless it is kept. */
  passed(): void;
}

export function createPlaces(limits: { atOnceMax: number; atOnceOfAppMax: number }): Places {
  const byApp = new Map<string, number>();
  let all = 0;
  return {
    enter(appId) {
      const ofApp = byApp.get(appId) ?? 0;
      if (all >= limits.atOnceMax || ofApp >= limits.atOnceOfAppMax) return null;
      all++;
      byApp.set(appId, ofApp + 1);
      let isKept = false;
      let hasLeft = false;
      const leave = () => {
        if (hasLeft) return;
        hasLeft = true;
        all--;
        const left = (byApp.get(appId) ?? 0) - 1;
        if (left > 0) byApp.set(appId, left);
        else byApp.delete(appId);
      };
      return {
        keep() {
          isKept = true;
          return leave;
        },
        passed() {
          if (!isKept) leave();
        },
      };
    },
  };
}
