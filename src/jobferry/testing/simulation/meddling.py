"""What happens to requests on their way: those that were armed hit the next request that they match."""

from jobferry.kube.wire import Answer
from jobferry.testing.simulation.network import Exchange


class Meddling:
    """Lets everything pass, unless something was armed."""

    async def before(self, exchange: Exchange) -> Answer | None:
        return None

    async def after(self, exchange: Exchange, answer: Answer) -> Answer:
        return answer
