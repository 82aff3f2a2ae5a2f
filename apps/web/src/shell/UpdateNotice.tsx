/** Offers a newer page. The person chooses when it is loaded: a prompt may be half written. */
import * as PageVersion from "./PageVersion.ts"

/** The notice; nothing while this tab has the service's page. */
export const UpdateNotice = () => (
  <div role="status">
    {PageVersion.useIsOutdated() && (
      <p className="notice">
        The service was updated, and has a newer page.{" "}
        <button type="button" className="small" onClick={() => location.reload()}>
          Load it
        </button>
      </p>
    )}
  </div>
)
