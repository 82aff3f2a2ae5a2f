/**
 * What a screen reader reads out by itself: a wait when it begins or changes, an answer when it is complete, a lost connection.
 *
 * The text has no countdown, so it changes with the state and never each second.
 */
import type { ConversationView } from "@holdfast/client"
import * as Moments from "../text/Moments.ts"
import * as ReasonText from "../text/ReasonText.ts"
import type { Link } from "./ConversationStore.ts"

interface AnnouncementProps {
  readonly view: ConversationView.ConversationView
  readonly link: Link
}

/** The live region of a conversation. */
export const Announcement = (props: AnnouncementProps) => (
  <p className="hidden" role="status" aria-live="polite" data-testid="announcement">
    {wordsOf(props)}
  </p>
)

/** The announcement of a state. */
export const wordsOf = ({ link, view: { retry, status, turn, voided } }: AnnouncementProps): string => {
  if (link.state === "lost") return "The connection to the service is lost. The page connects again by itself."
  if (retry !== undefined) {
    const at = Moments.moment(retry.dueAt, retry.dueAt)
    return retry.asks === undefined
      ? `${ReasonText.wordsOf(retry.reason)}. Retry ${retry.attempt + 1} at ${at}.`
      : `${retry.asks.message} The turn waits for your answer until ${at}.`
  }
  if (voided !== undefined) return "Text that was shown was taken back."
  if (status === "running") return "The model is working."
  switch (turn?.status) {
    case "completed":
      return "The answer is complete."
    case "failed":
      return "The turn failed. You can retry it."
    case "aborted":
      return "The turn was aborted."
    default:
      return ""
  }
}
