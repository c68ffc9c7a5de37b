import type { BaseArtifactService, Runner, Session, SessionArtifactService } from '@google/adk';

/** The services of ADK's runner that tools reach through their context. */
export type ToolServices = Pick<Runner, 'artifactService' | 'memoryService' | 'credentialService'>;

/** The services for the context of a call that runs outside of ADK's loop. For calls inside its loop, ADK's runner creates the same services. */
export function servicesFor(
  { artifactService, memoryService, credentialService }: ToolServices,
  session: Session,
): {
  artifactService?: SessionArtifactService;
  memoryService?: NonNullable<ToolServices['memoryService']>;
  credentialService?: NonNullable<ToolServices['credentialService']>;
} {
  return {
    ...(artifactService ? { artifactService: artifactsOf(artifactService, session) } : {}),
    ...(memoryService ? { memoryService } : {}),
    ...(credentialService ? { credentialService } : {}),
  };
}

function artifactsOf(service: BaseArtifactService, session: Session): SessionArtifactService {
  const { appName, userId, id: sessionId } = session;
  const key = { appName, userId, sessionId };
  return {
    saveArtifact: (request) => service.saveArtifact({ ...key, ...request }),
    loadArtifact: (request) => service.loadArtifact({ ...key, ...request }),
    listArtifactKeys: () => service.listArtifactKeys(key),
    deleteArtifact: (filename) => service.deleteArtifact({ ...key, filename }),
    listVersions: (filename) => service.listVersions({ ...key, filename }),
    listArtifactVersions: (filename) => service.listArtifactVersions({ ...key, filename }),
    getArtifactVersion: (request) => service.getArtifactVersion({ ...key, ...request }),
  };
}
