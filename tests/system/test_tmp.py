import pytest, time, asyncio
from tests.system.test_workers import *
from jobferry import log
@pytest.mark.timeout(200)
async def test_x(lab):
    import random, logging
    await lab.add_worker("south")
    for i in range(40):
        t=time.time()
        async with lab.dispatcher():
            await lab.world.submit(job(f"j{i}"))
            if i%2: await lab.world.until(f"j{i}", complete)
            else: await asyncio.sleep(random.uniform(0,.2))
        print(i, round(time.time()-t,2), flush=True)
        if time.time()-t>8: break
