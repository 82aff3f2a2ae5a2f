/** How the page is connected, when it is not: it comes back by itself. */
import * as Moments from "../text/Moments.ts"
import { useNow } from "../time/Now.ts"
import type { Link } from "./ConversationStore.ts"

/** A bar while the connection is lost. */
export const LinkNotice = ({ link }: { readonly link: Link }) => (link.state === "lost" ? <Lost link={link} /> : null)

// --- internal

const Lost = ({ link }: { readonly link: Extract<Link, { readonly state: "lost" }> }) => {
  const now = useNow()
  const left = link.retryAt.getTime() - now
  return (
    <div className="link-lost">
      The connection to the service is lost. The turn runs on without this page.{" "}
      {left > 0 ? `Connecting again in ${Moments.countdown(left)} …` : "Connecting …"}
    </div>
  )
}
