//! Limits how many bytes of large messages are in memory at once.
//!
//! Each message has its own size limit; this bounds the sum over concurrent messages.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Bytes are counted in units of this size.
const GRAIN: usize = 64 * 1024;
/// Bytes of each message that are not counted, so that small messages cost nothing.
const UNCOUNTED: usize = 64 * 1024;
/// How long a message waits for others to release bytes, over all its waits: messages that wait for each other
/// repeatedly would block each other.
const WAIT: Duration = Duration::from_secs(2);

/// A budget for the large messages of one server, of all servers, or of all clients. Clones share the budget.
#[derive(Clone, Debug)]
pub struct ByteBudget {
    room: Arc<Semaphore>,
    bytes: usize,
}

/// The budget did not have enough bytes in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetExceeded {
    /// The bytes that all messages together may take.
    pub bytes: usize,
}

/// The bytes that one message holds. Dropping it releases them.
#[derive(Debug)]
pub struct ByteReservation {
    budget: ByteBudget,
    permit: Option<OwnedSemaphorePermit>,
    /// How long this message may still wait.
    wait_left: Duration,
}

impl ByteBudget {
    /// Creates a budget of `bytes`, or of `largest` if that is more, so that one message of that size always fits.
    pub fn new(bytes: usize, largest: usize) -> Self {
        let bytes = bytes.max(largest);
        Self {
            room: Arc::new(Semaphore::new(grains(bytes).max(1))),
            bytes,
        }
    }

    /// Creates an empty reservation.
    pub fn reserve(&self) -> ByteReservation {
        ByteReservation {
            budget: self.clone(),
            permit: None,
            wait_left: WAIT,
        }
    }
}

impl ByteReservation {
    /// Grows or shrinks the reservation to a message of this size.
    ///
    /// # Errors
    /// Fails if other messages do not release enough bytes in time. The reservation keeps its size.
    pub async fn resize(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        let held = self.permit.as_ref().map_or(0, |held| held.num_permits());
        let wanted = grains(bytes);
        if wanted > held {
            return self.take(wanted - held).await;
        }
        if wanted < held {
            let surplus = self
                .permit
                .as_mut()
                .and_then(|held_now| held_now.split(held - wanted));
            drop(surplus);
        }
        Ok(())
    }

    async fn take(&mut self, grains: usize) -> Result<(), BudgetExceeded> {
        let full = BudgetExceeded {
            bytes: self.budget.bytes,
        };
        let many = u32::try_from(grains).map_err(|_| full)?;
        let room = self.budget.room.clone();
        let taken = match room.clone().try_acquire_many_owned(many) {
            Ok(taken) => taken,
            Err(_) => {
                let begun = Instant::now();
                let waited = timeout(self.wait_left, room.acquire_many_owned(many)).await;
                self.wait_left = self.wait_left.saturating_sub(begun.elapsed());
                match waited {
                    Ok(Ok(taken)) => taken,
                    Ok(Err(_)) | Err(_) => return Err(full),
                }
            }
        };
        match &mut self.permit {
            Some(held) => held.merge(taken),
            held => *held = Some(taken),
        }
        Ok(())
    }
}

fn grains(bytes: usize) -> usize {
    bytes.saturating_sub(UNCOUNTED).div_ceil(GRAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[tokio::test(start_paused = true)]
    async fn r_sec_01_messages_wait_for_room_and_fail_if_there_is_none_in_time() {
        let budget = ByteBudget::new(4 * MIB, MIB);
        let mut first = budget.reserve();
        first.resize(3 * MIB).await.unwrap();
        let mut second = budget.reserve();
        second.resize(MIB).await.unwrap();
        let mut third = budget.reserve();
        let full = third.resize(2 * MIB).await.unwrap_err();
        assert_eq!(full.bytes, 4 * MIB);
        let begun = Instant::now();
        third.resize(2 * MIB).await.unwrap_err();
        assert_eq!(begun.elapsed(), Duration::ZERO, "it has waited enough");
        let mut small = budget.reserve();
        small.resize(UNCOUNTED).await.unwrap();

        let waits = async { second.resize(2 * MIB).await };
        let frees = async {
            tokio::time::sleep(WAIT / 2).await;
            first.resize(MIB).await
        };
        let (waited, freed) = tokio::join!(waits, frees);
        assert_eq!((waited, freed), (Ok(()), Ok(())));
        drop((first, second));
        let mut all = budget.reserve();
        all.resize(4 * MIB).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_budget_always_has_room_for_one_message() {
        let budget = ByteBudget::new(1, 8 * MIB);
        budget.reserve().resize(8 * MIB).await.unwrap();
        assert!(budget.reserve().resize(9 * MIB).await.is_err());
    }
}
